#include "runtime/core/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <new>

namespace trimtab {
namespace {

// How often a thread looks for work before it sleeps: about 50 microseconds, longer than the gap
// between two operators.
constexpr int kSpins = 20000;

void Pause() {
#if defined(__GNUC__)
  __asm__ volatile("" ::: "memory");
#endif
}

}  // namespace

struct ThreadPool::State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
  std::atomic<uint32_t> generation{0};  // odd bits are not special: every loop adds one
  std::atomic<bool> stop{false};
  std::atomic<int> busy{0};  // helpers that have not finished the current loop

  Body body = nullptr;
  void* context = nullptr;
  size_t n = 0, grain = 1;
  std::atomic<size_t> next{0};

  int helpers = 0;
  struct Helper {
    pthread_t handle;
    State* state;
    int index;
  }* helper = nullptr;

  void TakeBlocks(int thread) {
    for (;;) {
      const size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) return;
      body(context, begin, begin + grain < n ? begin + grain : n, thread);
    }
  }
};

void* ThreadPool::Work(void* argument) {
  auto* self = static_cast<State::Helper*>(argument);
  State& state = *self->state;
  uint32_t seen = 0;
  for (;;) {
    int spins = 0;
    while (state.generation.load(std::memory_order_acquire) == seen && spins < kSpins) {
      Pause();
      ++spins;
    }
    if (state.generation.load(std::memory_order_acquire) == seen) {
      pthread_mutex_lock(&state.mutex);
      while (state.generation.load(std::memory_order_acquire) == seen)
        pthread_cond_wait(&state.wake, &state.mutex);
      pthread_mutex_unlock(&state.mutex);
    }
    ++seen;
    if (state.stop.load(std::memory_order_relaxed)) return nullptr;
    state.TakeBlocks(self->index);
    state.busy.fetch_sub(1, std::memory_order_release);
  }
}

Status ThreadPool::Start(int threads) {
  if (threads < 1 || threads > 64)
    return Status(Code::kBadArgument, TRIMTAB_TEXT("threads must be 1 to 64"), threads);
  if (threads == 1) return Status();
#if TRIMTAB_THREADS
  void* memory = malloc(sizeof(State) + sizeof(State::Helper) * static_cast<size_t>(threads - 1));
  if (memory == nullptr) return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for threads"));
  static_assert(alignof(State::Helper) <= alignof(State), "helpers follow the state in one block");
  state_ = ::new (memory) State;
  state_->helper = reinterpret_cast<State::Helper*>(static_cast<char*>(memory) + sizeof(State));
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
#else
  return Status(Code::kBadArgument, TRIMTAB_TEXT("this binary was built without threads"), threads);
#endif
}

void ThreadPool::Stop() {
#if TRIMTAB_THREADS
  if (state_ == nullptr) return;
  state_->stop.store(true, std::memory_order_relaxed);
  pthread_mutex_lock(&state_->mutex);
  state_->generation.fetch_add(1, std::memory_order_release);
  pthread_cond_broadcast(&state_->wake);
  pthread_mutex_unlock(&state_->mutex);
  for (int i = 0; i < state_->helpers; ++i) pthread_join(state_->helper[i].handle, nullptr);
  free(state_);
  state_ = nullptr;
  threads_ = 1;
#endif
}

void ThreadPool::For(size_t n, size_t grain, Body body, void* context) {
  if (n == 0) return;
  if (state_ == nullptr || n <= grain) {
    body(context, 0, n, 0);
    return;
  }
  State& state = *state_;
  state.body = body;
  state.context = context;
  state.n = n;
  state.grain = grain;
  state.next.store(0, std::memory_order_relaxed);
  state.busy.store(state.helpers, std::memory_order_relaxed);
  pthread_mutex_lock(&state.mutex);
  state.generation.fetch_add(1, std::memory_order_release);
  pthread_cond_broadcast(&state.wake);
  pthread_mutex_unlock(&state.mutex);
  state.TakeBlocks(0);
  while (state.busy.load(std::memory_order_acquire) != 0) Pause();
}

}  // namespace trimtab
