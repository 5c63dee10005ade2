#include "runtime/core/memory.h"

#include "runtime/core/parallel.h"

#if defined(__SANITIZE_ADDRESS__)
#include <stdlib.h>
#include <string.h>
#elif defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace trimtab {

#if defined(__SANITIZE_ADDRESS__)

// AddressSanitizer guards both ends of a heap allocation, so each table is a block of its own.
constexpr size_t kBlockBytes = 0;

void* MapMemory(size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, 4096, bytes) == 0 ? memset(memory, 0, bytes) : nullptr;
}

void UnmapMemory(void* memory, size_t) { free(memory); }

#else

// The system adds pages as they are touched: the unused part of a block costs nothing.
constexpr size_t kBlockBytes = 1 << 18;

#if defined(_WIN32)

void* MapMemory(size_t bytes) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void UnmapMemory(void* memory, size_t) {
  if (memory != nullptr) VirtualFree(memory, 0, MEM_RELEASE);
}

#else

void* MapMemory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

void UnmapMemory(void* memory, size_t bytes) {
  if (memory != nullptr) munmap(memory, bytes);
}

#endif
#endif

Status Memory::Take(size_t count, size_t element_bytes, void** result) {
  const uint64_t size = RoundUp(uint64_t{count} * element_bytes, uint64_t{kAlignment});
  if (blocks_ == nullptr || blocks_->bytes - blocks_->used < size) {
    const uint64_t needed = sizeof(Block) + size;
    const size_t size = needed > kBlockBytes ? static_cast<size_t>(needed) : kBlockBytes;
    auto* block = needed <= SIZE_MAX / 2 ? static_cast<Block*>(MapMemory(size)) : nullptr;
    if (block == nullptr)
      return Status(Code::kOutOfMemory, TRIMTAB_TEXT("no memory for the engine's tables"));
    *block = {blocks_, size, sizeof(Block)};
    blocks_ = block;
  }
  *result = reinterpret_cast<uint8_t*>(blocks_) + blocks_->used;
  blocks_->used += static_cast<size_t>(size);
  return Status();
}

void Memory::Release() {
  while (blocks_ != nullptr) {
    Block* const next = blocks_->next;
    UnmapMemory(blocks_, blocks_->bytes);
    blocks_ = next;
  }
}

}  // namespace trimtab
