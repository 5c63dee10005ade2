// Assigns offsets in one arena to buffers with known lifetimes.
#ifndef TRIMTAB_CORE_MEMORY_PLAN_H_
#define TRIMTAB_CORE_MEMORY_PLAN_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

constexpr size_t kArenaAlignment = 64;
// `bytes`, rounded up to the alignment of the arena and of scratch memory.
inline uint64_t Aligned(uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) & ~uint64_t{kArenaAlignment - 1};
}
// Vision networks need megabytes for activations: a file that needs more than this is damaged or
// hostile.
constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 30;

// 64 bits even on small devices, so that sums do not wrap before they are checked.
struct Buffer {
  uint64_t bytes;       // 0: needs no memory
  int32_t first, last;  // lifetime: first and last operator, inclusive
  uint64_t offset;      // the result
};

// Sets all offsets so that buffers with overlapping lifetimes do not overlap in memory, and returns
// the arena's size. Largest first, each at the lowest gap that fits ("greedy by size", Pisarchyk &
// Lee 2020, section 5.2). `order`: room for `count` indices.
uint64_t PlanMemory(Buffer* buffers, size_t count, uint32_t* order);

// Lower bound of any plan: the maximum over operators of the sum of live buffers.
uint64_t MemoryLowerBound(const Buffer* buffers, size_t count, int32_t op_count);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_MEMORY_PLAN_H_
