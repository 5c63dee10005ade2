#include "runtime/core/arena.h"

#include <sys/mman.h>

#include "runtime/core/memory.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr uintptr_t kLargestPage = uintptr_t{1} << 16;  // of those that systems take for files

}  // namespace

Arena::~Arena() { UnmapMemory(mapped_, mapped_bytes_); }

// The first use touches all of the arena, and a fault takes longer than clearing a page: asks for
// huge pages where there is room for one, and for the others all at once. The last huge page may
// stick out a little, which takes less time than small ones. A kernel that knows no such wish
// leaves them to the faults.
bool Arena::Map(size_t bytes) {
  if (mapped_ != nullptr && bytes == bytes_) return true;
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack
  size_t used = bytes + kArenaAlignment;
  // It begins at a huge page when it fills one.
  const size_t wanted = used < kHugePage ? used : used + 2 * kHugePage;
  void* const mapped = MapMemory(wanted);
  if (mapped == nullptr) return false;
  UnmapMemory(mapped_, mapped_bytes_);
  mapped_ = mapped;
  mapped_bytes_ = wanted;
  bytes_ = bytes;
  begin_ = static_cast<uint8_t*>(mapped);
  if (used >= kHugePage) {
    const auto place = reinterpret_cast<uintptr_t>(mapped);
    begin_ += RoundUp(place, uintptr_t{kHugePage}) - place;
    const size_t whole = RoundUp(used, kHugePage);
    if (whole - used < used / 8) used = whole;
  }
  static_cast<void>(madvise(begin_, used, MADV_HUGEPAGE));
  static_cast<void>(madvise(begin_, used, kPopulateWrite));
  return true;
}

void DropPages(const Tensor& tensor) {
  const auto data = reinterpret_cast<uintptr_t>(tensor.raw);
  const uintptr_t begin = RoundUp(data, kLargestPage);
  const uintptr_t end = (data + tensor.bytes) & ~(kLargestPage - 1);
  if (begin < end)
    static_cast<void>(
        madvise(static_cast<uint8_t*>(tensor.raw) + (begin - data), end - begin, MADV_DONTNEED));
}

}  // namespace trimtab
