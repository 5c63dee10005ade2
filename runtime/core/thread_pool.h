// A fixed set of threads that share index ranges. The caller's thread works too.
#ifndef TRIMTAB_CORE_THREAD_POOL_H_
#define TRIMTAB_CORE_THREAD_POOL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

class ThreadPool {
 public:
  // When a thread began and ended, in nanoseconds of CLOCK_MONOTONIC; an end of 0: not yet.
  using Span = uint64_t[2];
  // The body of a loop: indices [begin, end) done by thread `thread` of `threads()`.
  using Body = void (*)(void* context, size_t begin, size_t end, int thread);

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { Stop(); }

  // `threads` counts the caller's; 1 starts none. `cores`: where the system tells of its cores. Call
  // once.
  Status Start(int threads, const char* cores = "/sys/devices/system/cpu");
  void Stop();
  int threads() const { return threads_; }

  // From now on each thread widens its one of `spans` by its shares; null: none looks at the clock.
  void TimeShares(Span* spans);

  // Runs `body` over [0, n), an index of which costs `cost` (runtime/core/parallel.h), in blocks;
  // returns when all are done. Each thread begins with its own share, which is the same part of
  // every loop, so that loops over the same rows find them where they wrote them; who is done takes
  // what others have left. Where cores differ, shares are as large as cores are fast, and a slow
  // one leaves the last blocks to fast ones.
  void For(size_t n, size_t cost, Body body, void* context);

  // The same for a callable `f(begin, end, thread)`.
  template <typename F>
  void For(size_t n, size_t cost, const F& f) {
    For(
        n, cost,
        [](void* context, size_t begin, size_t end, int thread) {
          (*static_cast<const F*>(context))(begin, end, thread);
        },
        const_cast<F*>(&f));
  }

 private:
  struct State;
  static void* Work(void* argument);

  State* state_ = nullptr;
  int threads_ = 1;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_THREAD_POOL_H_
