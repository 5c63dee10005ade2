#include "runtime/core/memory_plan.h"

namespace trimtab {
namespace {

bool Overlap(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

uint64_t PlanMemory(Buffer* buffers, size_t count, uint32_t* order) {
  constexpr uint64_t kUnplaced = UINT64_MAX;
  for (size_t i = 0; i < count; ++i) buffers[i].offset = buffers[i].bytes == 0 ? 0 : kUnplaced;
  size_t placed = 0;
  uint64_t arena = 0;
  // order[0, placed) holds the placed buffers by rising offset, so gaps are found lowest first.
  for (;;) {
    size_t next = count;
    for (size_t i = 0; i < count; ++i) {
      if (buffers[i].offset == kUnplaced &&
          (next == count || buffers[i].bytes > buffers[next].bytes))
        next = i;
    }
    if (next == count) return arena;
    Buffer& buffer = buffers[next];
    const uint64_t bytes = Aligned(buffer.bytes);
    uint64_t offset = 0;
    for (size_t j = 0; j < placed; ++j) {
      const Buffer& other = buffers[order[j]];
      if (!Overlap(buffer, other)) continue;
      if (other.offset >= offset + bytes) break;
      if (other.offset + Aligned(other.bytes) > offset)
        offset = other.offset + Aligned(other.bytes);
    }
    buffer.offset = offset;
    if (offset + bytes > arena) arena = offset + bytes;
    size_t at = placed++;
    for (; at > 0 && buffers[order[at - 1]].offset > offset; --at) order[at] = order[at - 1];
    order[at] = static_cast<uint32_t>(next);
  }
}

uint64_t MemoryLowerBound(const Buffer* buffers, size_t count, int32_t op_count) {
  uint64_t bound = 0;
  for (int32_t op = 0; op < op_count; ++op) {
    uint64_t alive = 0;
    for (size_t i = 0; i < count; ++i) {
      if (buffers[i].first <= op && op <= buffers[i].last) alive += Aligned(buffers[i].bytes);
    }
    if (alive > bound) bound = alive;
  }
  return bound;
}

}  // namespace trimtab
