// The block of memory that holds a model's tensors.
#ifndef TRIMTAB_CORE_ARENA_H_
#define TRIMTAB_CORE_ARENA_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tensor.h"

namespace trimtab {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Reserves at least `bytes`, whose content is undefined; keeps the present block if it is large
  // enough. Returns false, and changes nothing, when the system is out of memory.
  bool Map(size_t bytes);
  // Takes the block's pages from the system at once instead of one page fault at a time. A model
  // that is opened but never run uses no memory.
  void Touch() {
    if (untouched_bytes_ != 0) Populate();
  }
  // 64-byte aligned.
  uint8_t* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

 private:
  void Populate();

  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
  size_t untouched_bytes_ = 0;
};

// Returns the pages of a mapped file that lie entirely inside [bytes, bytes + size) to the system,
// which reads them again on the next access.
void DropPages(const void* bytes, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_ARENA_H_
