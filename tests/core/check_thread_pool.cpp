// Every index is done exactly once, and what the threads wrote is seen by the caller afterwards.
// `./inv sanitize` runs this under ThreadSanitizer.
#include <stdio.h>
#include <string.h>

#include "runtime/core/thread_pool.h"

namespace {

constexpr size_t kMaxIndices = 1000;
unsigned char done[kMaxIndices];
int failures = 0;

void CheckLoop(trimtab::ThreadPool* pool, size_t indices, size_t cost) {
  memset(done, 0, sizeof(done));
  const int threads = pool->threads();
  pool->For(indices, cost, [threads](size_t begin, size_t end, int thread) {
    // A wrong thread number would make two threads share one scratch buffer.
    const bool known = thread >= 0 && thread < threads;
    for (size_t i = begin; i < end; ++i)
      done[i] = static_cast<unsigned char>(done[i] + (known ? 1 : 100));
  });
  for (size_t i = 0; i < kMaxIndices; ++i) {
    if (done[i] != (i < indices ? 1 : 0)) {
      printf("threads %d, %zu indices, cost %zu: index %zu done %d times\n", threads, indices, cost,
             i, done[i]);
      ++failures;
      return;
    }
  }
}

}  // namespace

int main() {
  const size_t sizes[] = {0, 1, 2, 3, 7, 64, 999, kMaxIndices};
  const size_t costs[] = {100000, 4096, 2000, 128, 0};
  for (int threads = 1; threads <= 5; ++threads) {
    trimtab::ThreadPool pool;
    if (!pool.Start(threads).ok()) {
      printf("cannot start %d threads\n", threads);
      return 1;
    }
    // Loops in quick succession: the next one starts while the threads of the last still wake up.
    for (int round = 0; round < 50; ++round) {
      for (const size_t size : sizes) {
        for (const size_t cost : costs) CheckLoop(&pool, size, cost);
      }
    }
    pool.Stop();
  }
  printf("thread pool: %s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
