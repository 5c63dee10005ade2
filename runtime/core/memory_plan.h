// Places buffers with known lifetimes in one arena.
#ifndef TRIMTAB_CORE_MEMORY_PLAN_H_
#define TRIMTAB_CORE_MEMORY_PLAN_H_

#include <stddef.h>
#include <stdint.h>

namespace trimtab {

constexpr size_t kArenaAlignment = 64;
// The room of so many bytes in an arena, or in scratch memory: what follows is aligned, too.
inline uint64_t Aligned(uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) & ~uint64_t{kArenaAlignment - 1};
}
// A file that asks for more is damaged or hostile: activations of vision networks take megabytes.
constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 30;

// 64 bits even on small devices: sums must not wrap before they are found too large.
struct Buffer {
  uint64_t bytes;       // 0: not placed
  int32_t first, last;  // operators during which it is alive, inclusive
  uint64_t offset;      // the result
};

// Sets every offset so that buffers alive together do not overlap, and returns the arena's size.
// Largest first, each at the lowest gap that fits ("greedy by size", Pisarchyk & Lee 2020,
// section 5.2). `order` is room for `count` indices.
uint64_t PlanMemory(Buffer* buffers, size_t count, uint32_t* order);

// No plan can be smaller: the largest sum of buffers alive at one operator.
uint64_t MemoryLowerBound(const Buffer* buffers, size_t count, int32_t op_count);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_MEMORY_PLAN_H_
