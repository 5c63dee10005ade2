#include "runtime/core/arena.h"

#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "runtime/core/memory.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Arena::~Arena() { UnmapMemory(mapped_, mapped_bytes_); }

bool Arena::Map(size_t bytes) {
  if (mapped_ != nullptr && bytes == bytes_) return true;
  size_t used = bytes + kArenaAlignment;
  // A block that fills a huge page begins at one.
  const size_t size = used < kHugePage ? used : used + 2 * kHugePage;
  void* const mapped = MapMemory(size);
  if (mapped == nullptr) return false;
  UnmapMemory(mapped_, mapped_bytes_);
  mapped_ = mapped;
  mapped_bytes_ = size;
  bytes_ = bytes;
  begin_ = static_cast<uint8_t*>(mapped);
  if (used >= kHugePage) {
    const auto place = reinterpret_cast<uintptr_t>(mapped);
    begin_ += RoundUp(place, uintptr_t{kHugePage}) - place;
    const size_t whole = RoundUp(used, kHugePage);
    if (whole - used < used / 32) used = whole;
  }
  untouched_bytes_ = used;
  return true;
}

// A page fault takes longer than clearing a page: requests huge pages where one fits, and all other
// pages at once. The last huge page may reach past the block, which is faster than small pages.
// Kernels without these requests fall back to page faults.
void Arena::Populate() {
#if defined(__linux__)
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack
  static_cast<void>(madvise(begin_, untouched_bytes_, MADV_HUGEPAGE));
  static_cast<void>(madvise(begin_, untouched_bytes_, kPopulateWrite));
#endif
  untouched_bytes_ = 0;
}

#if defined(_WIN32)

void DropPages(const void*, size_t) {}  // the system takes pages of mapped files when it needs them

#else

void DropPages(const void* bytes, size_t size) {
  const auto data = reinterpret_cast<uintptr_t>(bytes);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t before = RoundUp(data, page) - data;
  const uintptr_t end = (data + size) & ~(page - 1);
  if (data + before < end) {
    void* const begin = const_cast<uint8_t*>(static_cast<const uint8_t*>(bytes)) + before;
    static_cast<void>(madvise(begin, end - data - before, MADV_DONTNEED));
  }
}

#endif

}  // namespace trimtab
