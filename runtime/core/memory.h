// Memory straight from the system. The engine takes it when a model is opened and at no other time,
// in a few blocks, for which a C library's heap would be a fiftieth of a small binary.
#ifndef TRIMTAB_CORE_MEMORY_H_
#define TRIMTAB_CORE_MEMORY_H_

#include <stddef.h>

#include "runtime/core/status.h"

namespace trimtab {

// `bytes` > 0 zeros that begin at a page; null when the system has none left.
void* MapMemory(size_t bytes);
// What MapMemory gave, or null.
void UnmapMemory(void* memory, size_t bytes);

// Zeroed tables that are given back together.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { Release(); }

  // Points `result` at `count` elements.
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
