// Memory mapped from the system. The engine allocates only when a model is opened, in a few blocks;
// a C library's heap would be a fiftieth of a small binary.
#ifndef TRIMTAB_CORE_MEMORY_H_
#define TRIMTAB_CORE_MEMORY_H_

#include <stddef.h>

#include "runtime/core/status.h"

namespace trimtab {

// Returns `bytes` > 0 zeroed bytes at a page boundary; null if the system is out of memory.
void* MapMemory(size_t bytes);
// `memory`: from MapMemory, or null.
void UnmapMemory(void* memory, size_t bytes);

// Zeroed tables that are freed together.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { Release(); }

  // Sets `result` to `count` zeroed elements.
  template <typename T>
  Status Take(size_t count, T** result) {
    static_assert(alignof(T) <= kAlignment, "tables are aligned for what they hold");
    void* table = nullptr;
    Status status = Take(count, sizeof(T), &table);
    *result = static_cast<T*>(table);
    return status;
  }
  void Release();

 private:
  static constexpr size_t kAlignment = 64;
  struct alignas(kAlignment) Block {
    Block* next;
    size_t bytes, used;
  };

  Status Take(size_t count, size_t element_bytes, void** result);

  Block* blocks_ = nullptr;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_MEMORY_H_
