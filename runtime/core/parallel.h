// How work is cut when the program runs: into blocks for a loop, and into parts for threads. Only the
// engine knows how many threads there are; what depends on the machine's caches is in the plan.
//
// Work is counted in multiply-adds, or in elements that are moved.
#ifndef TRIMTAB_CORE_PARALLEL_H_
#define TRIMTAB_CORE_PARALLEL_H_

#include <stddef.h>

namespace trimtab {

// What is worth a hand-over between threads: about ten microseconds on a small core.
constexpr size_t kBlockCost = 1 << 13;
// An exponential, or an element of a tile that is transformed in both directions.
constexpr size_t kFunctionCost = 16;
// To hand an element from one thread to another takes as long as reading so many weights.
constexpr size_t kExchangeCost = 4;
// Blocks that threads share should be so many, for each of them to be busy to the end.
constexpr size_t kBlocksPerThread = 4;
// A loop is cut into so many at most: more where cores differ, as a block that a slow one has begun
// keeps all others waiting.
constexpr size_t kMostPerThread = 8, kMostPerUnlikeThread = 32;

inline size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

inline size_t Least(size_t a, size_t b) { return a < b ? a : b; }

template <typename T>
constexpr T RoundUp(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

// Items per block for a loop of `items` that each cost `cost`: worth a hand-over, and no more than
// `most` blocks per thread.
inline size_t Grain(size_t items, size_t cost, size_t threads, size_t most) {
  const size_t worthwhile = cost < kBlockCost ? kBlockCost / (cost + 1) + 1 : 1;
  const size_t fair = items / (threads * most) + 1;
  return worthwhile > fair ? worthwhile : fair;
}

// True when threads that do `part` rows each lose at most a fifth of the time that `rows` take.
inline bool FillsThreads(size_t part, size_t threads, size_t rows) {
  return part * threads * 5 <= rows * 6;
}

// True when it takes threads longer to read `weights` each than to exchange `elements`.
inline bool ReadingTakesLonger(size_t weights, size_t elements) {
  return weights > kExchangeCost * elements;
}

// The size of the blocks of a share: at most `most`, in whole units where there are several, and
// alike, so that the last one is not left with a few.
inline size_t EvenBlocks(size_t share, size_t most, size_t unit) {
  const size_t blocks = DivideUp(share, RoundUp(most, unit));
  return blocks > 1 ? RoundUp(DivideUp(share, blocks), unit) : share;
}

}  // namespace trimtab

#endif  // TRIMTAB_CORE_PARALLEL_H_
