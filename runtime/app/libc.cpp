// Replacements of C library functions in a static runner, which save four kilobytes: musl's threads
// support cancellation, keys and detaching, and its clock reads the symbols of the vDSO. The thread
// pool (runtime/core/thread_pool.cpp) creates and joins threads and reads the time; a system call
// for each takes 0.3 microseconds, where inferences take milliseconds.
#include <unistd.h>

#if TRIMTAB_STATIC && defined(__linux__) && !defined(__GLIBC__)

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

// clone(2), which C cannot call, because the child has a stack of its own: the only part of musl's
// threads that is used. It ends the thread when `start` returns.
extern "C" int __clone(int (*start)(void*), void* stack, int flags, void* argument, int* parent_id,
                       void* thread_pointer,
                       int* child_id);  // NOLINT(bugprone-reserved-identifier)

namespace {

constexpr size_t kGuardBytes = size_t{1} << 16;  // maximum page size
constexpr size_t kBytes = kGuardBytes + (size_t{1} << 18);

// At the end of the thread's stack. The thread pointer has zeros on both sides, where musl keeps
// its thread state: only errno is written. On x86-64 it points at its own address.
struct Thread {
  void* (*work)(void*);
  void* argument;
  int running;  // the kernel writes 0 and wakes waiters when the thread has ended
  alignas(64) char below[512];
  void* self;
  char above[504];
};

int Start(void* argument) {
  auto* const thread = static_cast<Thread*>(argument);
  thread->work(thread->argument);
  return 0;
}

}  // namespace

extern "C" int pthread_create(pthread_t* handle, const pthread_attr_t*, void* (*work)(void*),
                              void* argument) {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return EAGAIN;
  syscall(SYS_mprotect, memory, kGuardBytes, PROT_NONE);  // mprotect() reads the page size
  auto* const thread = reinterpret_cast<Thread*>(static_cast<char*>(memory) + kBytes) - 1;
  thread->work = work;
  thread->argument = argument;
  thread->running = 1;
  thread->self = &thread->self;
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
  if (__clone(Start, thread, kFlags, thread, nullptr, &thread->self, &thread->running) < 0) {
    munmap(memory, kBytes);
    return EAGAIN;
  }
  *handle = reinterpret_cast<pthread_t>(thread);
  return 0;
}

extern "C" int pthread_join(pthread_t handle, void**) {
  auto* const thread = reinterpret_cast<Thread*>(handle);
  while (__atomic_load_n(&thread->running, __ATOMIC_ACQUIRE) != 0)
    syscall(SYS_futex, &thread->running, FUTEX_WAIT, 1, nullptr);
  munmap(reinterpret_cast<char*>(thread + 1) - kBytes, kBytes);
  return 0;
}

// The engine reads the page size when it drops pages of a file. musl's sysconf has a hundred other
// cases.
extern "C" long sysconf(int name) {
  return name == _SC_PAGESIZE ? static_cast<long>(getauxval(AT_PAGESZ)) : -1;
}

extern "C" int clock_gettime(clockid_t clock, timespec* now) {
#ifdef SYS_clock_gettime64
  if (syscall(SYS_clock_gettime64, clock, now) == 0) return 0;
  long words[2];  // before Linux 5.1: 32 bits of seconds, enough for a clock that starts at boot
  if (syscall(SYS_clock_gettime32, clock, words) != 0) return -1;
  now->tv_sec = words[0];
  now->tv_nsec = words[1];
  return 0;
#else
  return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
#endif
}

#endif
