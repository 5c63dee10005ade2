#include "runtime/core/thread_pool.h"

#if TRIMTAB_THREADS
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

// How long a helper looks for work before it sleeps: longer than an operator that one thread runs
// alone, as waking up takes 50 microseconds and more. Past kSpinNs it lets others have the core.
constexpr uint64_t kPatienceNs = 1000000, kSpinNs = 50000;

[[gnu::noinline]] uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Spins until `ready()`; false when that took longer than `patience` nanoseconds. Most often it takes
// no look at the clock, which may be a system call.
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

// Threads sleep on a word of memory, which is all that a loop needs of the system (futex(2)): a mutex
// and a condition variable are 4 KB of a small C library, and take longer.
//
// Sleeps unless `word` is no longer `value`; may also wake without a reason.
void SleepWhile(const std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void WakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

struct ThreadPool::State {
  Shares shares;
  Capacities capacities;

  std::atomic<uint32_t> generation{0};  // every loop adds one
  // A helper counts itself in before it looks at the generation for the last time, and the caller
  // adds to that before it looks for sleepers: one of the two sees the other.
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  // A helper counts itself in before it asks whether there is a loop, and the caller ends the loop
  // before it waits for those that are in: one of the two sees the other. So nobody waits for a
  // helper that the system has not let run yet.
  std::atomic<int> active{0};
  std::atomic<bool> open{false};

  Body body = nullptr;
  void* context = nullptr;

  Span* spans = nullptr;

  int helpers = 0;
  struct Helper {
    pthread_t handle;
    State* state;
    int index;
  } helper[Shares::kMost - 1];

  void Call() {
    generation.fetch_add(1);
    if (sleepers.load() != 0) WakeAll(generation);
  }

  // What is left to others in time is done by them, or by the caller in the end.
  [[gnu::noinline]] void TakeBlocks(int thread, bool in_time) {
    Shares::Cursor at = {thread, in_time};
    const uint64_t start = spans != nullptr ? Now() : 0;
    bool has_any = false;
    for (size_t begin, end; shares.Take(&at, &begin, &end); has_any = true)
      body(context, begin, end, thread);
    if (start == 0 || !has_any) return;
    Span& span = spans[thread];
    if (span[1] == 0) span[0] = start;
    span[1] = Now();
  }

  void Enter(int thread) {
    const bool differ = capacities.differ();
    if (differ) shares.SetSpeed(thread, capacities.OfThisThread());
    TakeBlocks(thread, differ);
  }
};

void* ThreadPool::Work(void* argument) {
  auto* self = static_cast<State::Helper*>(argument);
  State& state = *self->state;
  uint32_t seen = 0;
  for (;;) {
    const auto called = [&] { return state.generation.load() != seen; };
    if (!Spin(kPatienceNs, called)) {
      state.sleepers.fetch_add(1);
      while (!called()) SleepWhile(state.generation, seen);
      state.sleepers.fetch_sub(1);
    }
    seen = state.generation.load();
    if (state.stop.load(std::memory_order_relaxed)) return nullptr;
    state.active.fetch_add(1);
    if (state.open.load()) state.Enter(self->index);
    state.active.fetch_sub(1, std::memory_order_release);
  }
}

Status ThreadPool::Start(int threads, const char* cores) {
  if (threads < 1 || threads > Shares::kMost)
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
    return Status(Code::kOutOfMemory, TRIMTAB_TEXT("the system refuses another thread"), threads);
  }
  return Status();
}

void ThreadPool::Stop() {
  if (state_ == nullptr) return;
  state_->stop.store(true, std::memory_order_relaxed);
  state_->Call();
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
  const size_t most = differ ? kMostPerUnlikeThread : kMostPerThread;
  const size_t grain = state_ == nullptr ? n : Grain(n, cost, threads, most);
  if (n <= grain) {
    body(context, 0, n, 0);
    return;
  }
  State& state = *state_;
  state.body = body;
  state.context = context;
  state.shares.Split(n, grain, threads_);
  state.open.store(true, std::memory_order_release);
  state.Call();
  state.Enter(0);
  state.open.store(false);
  Spin(UINT64_MAX, [&] { return state.active.load() == 0; });
  if (differ) state.TakeBlocks(0, false);
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
