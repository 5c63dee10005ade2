#include "runtime/core/thread_pool.h"

#if TRIMTAB_THREADS
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <new>

#include "runtime/core/capacity.h"
#include "runtime/core/cpu.h"
#include "runtime/core/memory.h"
#include "runtime/core/parallel.h"
#include "runtime/core/shares.h"
#endif

namespace trimtab {

#if TRIMTAB_THREADS

namespace {

// Time that a helper waits for work before it sleeps: longer than an operator that one thread runs
// alone, because waking takes 50 microseconds and more. After kSpinNs it yields its core.
constexpr uint64_t kPatienceNs = 1000000, kSpinNs = 50000;

[[gnu::noinline]] uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Spins until `ready()`; false after `patience` nanoseconds. Usually does not read the clock, which
// may be a system call.
template <class Ready>
bool Spin(uint64_t patience, Ready ready) {
  for (uint64_t start = 0;;) {
    for (int i = 0; i < 128; ++i) {
      if (ready()) return true;
      Relax();
    }
    const uint64_t now = Now(), waited = start == 0 ? 0 : now - start;
    if (start == 0) start = now;
    if (waited > patience) return false;
    if (waited > kSpinNs) sched_yield();
  }
}

#if defined(__linux__)

// Threads sleep on a word of memory (futex(2)): a mutex and a condition variable would add 4 KB of
// a small C library and take longer.
//
// Sleeps while `word` is `value`; may wake spuriously.
void SleepWhile(const std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void WakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// The set of cores that a thread may run on (sched_setaffinity(2)). If the system has more cores
// than fit here, it rejects the call, and nothing changes.
class Cores {
 public:
  // Forbids `thread` to run on `core`, if it may run on another one.
  void Forbid(int thread, unsigned core) {
    syscall(SYS_sched_getaffinity, thread, sizeof(allowed_), allowed_);
    unsigned long& word = allowed_[core / kWordBits % kWords];
    const unsigned long all = word;
    word &= ~(1ul << core % kWordBits);
    Allow(thread);
    word = all;
  }
  // Restores the thread's original set.
  void Allow(int thread) const {
    syscall(SYS_sched_setaffinity, thread, sizeof(allowed_), allowed_);
  }

 private:
  static constexpr size_t kWordBits = 8 * sizeof(unsigned long), kWords = 1024 / kWordBits;
  unsigned long allowed_[kWords] = {};
};

unsigned ThisCore() {
  unsigned core = 0;
  syscall(SYS_getcpu, &core, nullptr, nullptr);
  return core;
}

int ThisThread() { return static_cast<int>(syscall(SYS_gettid)); }

#else

// Hosts other than Linux: all pools sleep on one condition, and threads stay where the system puts
// them.
pthread_mutex_t asleep = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t called_all = PTHREAD_COND_INITIALIZER;

void SleepWhile(const std::atomic<uint32_t>& word, uint32_t value) {
  pthread_mutex_lock(&asleep);
  if (word.load() == value) pthread_cond_wait(&called_all, &asleep);
  pthread_mutex_unlock(&asleep);
}

void WakeAll(const std::atomic<uint32_t>&) {
  pthread_mutex_lock(&asleep);
  pthread_cond_broadcast(&called_all);
  pthread_mutex_unlock(&asleep);
}

class Cores {
 public:
  void Forbid(int, unsigned) {}
  void Allow(int) const {}
};

unsigned ThisCore() { return 0; }

int ThisThread() { return 0; }

#endif

}  // namespace

struct ThreadPool::State {
  Shares shares;
  uint32_t helped = 0;  // blocks that helpers have done in all finished loops

  int helpers = 0;
  struct Helper {
    pthread_t handle;
    State* state;
    int index;
    std::atomic<int> id{0};  // thread id of the system, once it runs
    Cores cores;
  } helper[Shares::kMaxThreads - 1];

  // Written rarely, and on another cache line than what every loop writes: reading it is cheap.
  Span* spans = nullptr;
  Capacities capacities;
  std::atomic<uint32_t> sleepers{0}, calls{0};
  std::atomic<uint32_t> busy{0};  // helpers in a loop, on machines with unlike cores
  std::atomic<bool> stop{false};

  // A helper that falls asleep at this moment may miss the loop: then others do its work. If the
  // other cores are busy for some microseconds, the system puts a waking thread on the caller's
  // core, where it waits until the caller has done all the work, in every loop again. So helpers
  // are moved to other cores first. Not on machines with unlike cores, whose schedulers choose by
  // capacity and have idle cores; phones also change the allowed set of a process at any time,
  // which a thread with its own set would miss.
  [[gnu::noinline]] void Wake() {
    ForbidThisCore(true);
    calls.fetch_add(1);
    WakeAll(calls);
    ForbidThisCore(false);
  }

  // Applies to helpers that run already; false: restores their original sets.
  [[gnu::noinline]] void ForbidThisCore(bool forbid) {
    if (capacities.differ()) return;
    const unsigned core = ThisCore();
    for (int i = 0; i < helpers; ++i) {
      Helper& one = helper[i];
      const int id = one.id.load(std::memory_order_relaxed);
      if (id == 0) continue;
      if (forbid)
        one.cores.Forbid(id, core);
      else
        one.cores.Allow(id);
    }
  }

  // Blocks that the thread leaves `in_time` are done by other threads, or finally by the caller.
  // Returns the number of blocks that the thread did.
  [[gnu::noinline]] size_t TakeBlocks(int thread, bool in_time) {
    Shares::Cursor at = {thread, in_time};
    size_t count = 0;
    for (size_t begin, end; shares.Take(&at, &begin, &end); ++count) {
      const uint64_t start = spans != nullptr ? Now() : 0;
      shares.Do(thread, begin, end);
      if (start != 0) {
        Span& span = spans[thread];
        if (span[1] == 0) span[0] = start;
        span[1] = Now();
      }
      shares.Finish(thread);
    }
    return count;
  }

  size_t Enter(int thread) {
    if (!capacities.differ()) return TakeBlocks(thread, false);
    shares.SetSpeed(thread, capacities.OfThisThread());
    return TakeBlocks(thread, true);
  }

  uint32_t DoneByHelpers() const {
    uint32_t all = 0;
    for (int i = 1; i <= helpers; ++i) all += shares.Done(i);
    return all;
  }
};

void* ThreadPool::Work(void* argument) {
  auto* self = static_cast<State::Helper*>(argument);
  State& state = *self->state;
  self->id.store(ThisThread(), std::memory_order_relaxed);
  uint32_t seen = 0;
  const auto called = [&] {  // to another loop than the last one, or to the end
    return state.shares.Offered(self->index) != seen || state.stop.load();
  };
  for (;;) {
    if (!Spin(kPatienceNs, called)) {
      state.sleepers.fetch_add(1);
      for (uint32_t calls; calls = state.calls.load(), !called();) SleepWhile(state.calls, calls);
      state.sleepers.fetch_sub(1);
    }
    if (state.stop.load()) return nullptr;
    seen = state.shares.Offered(self->index);
    if (state.capacities.differ()) state.busy.fetch_add(1);
    state.Enter(self->index);
    if (state.capacities.differ()) state.busy.fetch_sub(1);
  }
}

Status ThreadPool::Start(int threads, const char* cores) {
  if (threads < 1 || threads > Shares::kMaxThreads)
    return Status(Code::kBadArgument, TRIMTAB_TEXT("threads must be 1 to 64"), threads);
  if (threads == 1) return Status();
  void* const memory = MapMemory(sizeof(State));
  if (memory == nullptr) return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for threads"));
  state_ = ::new (memory) State;
  state_->capacities.Read(cores);
  for (int i = 0; i < threads - 1; ++i) {
    State::Helper& helper = state_->helper[i];
    helper.state = state_;
    helper.index = i + 1;
    if (pthread_create(&helper.handle, nullptr, &ThreadPool::Work, &helper) != 0) break;
    ++state_->helpers;
  }
  threads_ = state_->helpers + 1;
  if (threads_ != threads) {
    Stop();
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("cannot start another thread"), threads);
  }
  return Status();
}

void ThreadPool::Stop() {
  if (state_ == nullptr) return;
  state_->stop.store(true);
  state_->Wake();
  for (int i = 0; i < state_->helpers; ++i) pthread_join(state_->helper[i].handle, nullptr);
  UnmapMemory(state_, sizeof(State));
  state_ = nullptr;
  threads_ = 1;
}

void ThreadPool::TimeShares(Span* spans) {
  if (state_ != nullptr) state_->spans = spans;
}

void ThreadPool::For(size_t n, size_t cost, Body body, void* context) {
  if (n == 0) return;
  const size_t threads = static_cast<size_t>(threads_);
  const bool differ = state_ != nullptr && state_->capacities.differ();
  const size_t max_blocks = differ ? kMaxBlocksPerUnlikeThread : kMaxBlocksPerThread;
  const size_t grain = state_ == nullptr ? n : Grain(n, cost, threads, max_blocks);
  if (n <= grain) {
    body(context, 0, n, 0);
    return;
  }
  State& state = *state_;
  const size_t blocks = state.shares.Split(n, grain, threads_, differ, body, context);
  if (state.sleepers.load(std::memory_order_relaxed) != 0) state.Wake();
  size_t own = state.Enter(0);
  Spin(UINT64_MAX, [&] {
    if (state.DoneByHelpers() - state.helped + own == blocks) return true;
    if (differ && state.busy.load() == 0) own += state.TakeBlocks(0, false);
    return false;
  });
  state.helped += static_cast<uint32_t>(blocks - own);
}

#else

Status ThreadPool::Start(int threads, const char*) {
  return threads == 1 ? Status()
                      : Status(Code::kBadArgument,
                               TRIMTAB_TEXT("this binary was built without threads"), threads);
}

void ThreadPool::Stop() {}

void ThreadPool::TimeShares(Span*) {}

void ThreadPool::For(size_t n, size_t, Body body, void* context) {
  if (n > 0) body(context, 0, n, 0);
}

#endif

}  // namespace trimtab
