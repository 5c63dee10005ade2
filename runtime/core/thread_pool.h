// A fixed set of threads that share index ranges. The calling thread works too.
#ifndef TRIMTAB_CORE_THREAD_POOL_H_
#define TRIMTAB_CORE_THREAD_POOL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

class ThreadPool {
 public:
  // Start and end of a thread's work, in nanoseconds of CLOCK_MONOTONIC; end 0: not finished.
  using Span = uint64_t[2];
  // The body of a loop: indices [begin, end) done by thread `thread` of `threads()`.
  using Body = void (*)(void* context, size_t begin, size_t end, int thread);

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { Stop(); }

  // `threads` includes the caller; 1 starts none. `cores`: folder where the system describes its
  // cores. Call once.
  Status Start(int threads, const char* cores = "/sys/devices/system/cpu");
  void Stop();
  int threads() const { return threads_; }

  // From now on each thread extends its entry of `spans` by its blocks; null: no thread reads the
  // clock.
  void TimeShares(Span* spans);

  // Runs `body` over [0, n) in blocks and returns when all are done; an index costs `cost`
  // (runtime/core/parallel.h). Each thread begins with its own share, the same part of every loop,
  // so that loops over the same rows find them in the cache of the core that wrote them; then it
  // steals blocks of other shares. On machines with unlike cores, shares are proportional to speed,
  // and a slow core leaves the last blocks to fast ones.
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
