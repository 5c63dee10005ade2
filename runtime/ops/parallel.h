// How loops are cut for the thread pool.
#ifndef TRIMTAB_OPS_PARALLEL_H_
#define TRIMTAB_OPS_PARALLEL_H_

#include <stddef.h>

namespace trimtab {

// Items per block for a loop of `items` that each cost `cost` multiply-adds (or elements moved):
// enough work to be worth a hand-over between threads (about ten microseconds on a small core), and
// no more than eight blocks per thread.
inline size_t Grain(size_t items, size_t cost, int threads) {
  constexpr size_t kBlockCost = 1 << 13;
  const size_t worthwhile = kBlockCost / (cost + 1) + 1;
  const size_t fair = items / (static_cast<size_t>(threads) * 8) + 1;
  return worthwhile > fair ? worthwhile : fair;
}

inline size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

inline size_t Least(size_t a, size_t b) { return a < b ? a : b; }

}  // namespace trimtab

#endif  // TRIMTAB_OPS_PARALLEL_H_
