// Partitioning of work at run time: into blocks of a loop, and into parts for threads. Only the
// engine knows the number of threads; the plan contains what depends on the machine's caches.
//
// Work is counted in multiply-adds, or in elements that are moved.
#ifndef TRIMTAB_CORE_PARALLEL_H_
#define TRIMTAB_CORE_PARALLEL_H_

#include <stddef.h>

namespace trimtab {

// Minimum cost of a block: about ten microseconds on a small core. Less where tests look for races, so
// that threads share small loops, too.
#ifndef TRIMTAB_BLOCK_COST
#define TRIMTAB_BLOCK_COST (1 << 13)
#endif
constexpr size_t kBlockCost = TRIMTAB_BLOCK_COST;
// Cost of an exponential, or of an element of a tile that is transformed in both directions.
constexpr size_t kFunctionCost = 16;
// Passing an element from one thread to another takes as long as reading this many weights.
constexpr size_t kExchangeCost = 4;
// Number of blocks per thread that keeps all threads busy to the end of a loop.
constexpr size_t kBlocksPerThread = 4;
// Maximum number of blocks per thread. More on machines with unlike cores, where all threads wait
// for the last block of a slow core.
constexpr size_t kMaxBlocksPerThread = 8, kMaxBlocksPerUnlikeThread = 32;

inline size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

inline size_t Min(size_t a, size_t b) { return a < b ? a : b; }

template <typename T>
constexpr T RoundUp(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

// Items per block of a loop of `items` items of cost `cost` each: at least kBlockCost, at most
// `max_blocks` blocks per thread.
inline size_t Grain(size_t items, size_t cost, size_t threads, size_t max_blocks) {
  const size_t worthwhile = cost < kBlockCost ? kBlockCost / (cost + 1) + 1 : 1;
  const size_t fair = items / (threads * max_blocks) + 1;
  return worthwhile > fair ? worthwhile : fair;
}

// True if at most a fifth of the time is lost when each thread computes `part` of `rows` rows.
inline bool FillsThreads(size_t part, size_t threads, size_t rows) {
  return part * threads * 5 <= rows * 6;
}

// True if reading `weights` in every thread takes longer than exchanging `elements` between
// threads.
inline bool ReadingTakesLonger(size_t weights, size_t elements) {
  return weights > kExchangeCost * elements;
}

// Size of the blocks of a share: at most `max_size`, in whole units if there are several blocks, and of
// equal size, so that the last block is not small.
inline size_t EvenBlocks(size_t share, size_t max_size, size_t unit) {
  const size_t blocks = DivideUp(share, RoundUp(max_size, unit));
  return blocks > 1 ? RoundUp(DivideUp(share, blocks), unit) : share;
}

}  // namespace trimtab

#endif  // TRIMTAB_CORE_PARALLEL_H_
