// Memory for tensors that live together.
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

  // Makes room for `bytes`, of which what there was is gone; where it has this room already, it
  // stays. False, and nothing changed, when the system has no memory left.
  bool Map(size_t bytes);
  // Takes the memory behind that room from the system at once, which its first use would do page by
  // page. A model that is opened and never run takes none.
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

// Gives the pages of a mapped file that hold nothing but these bytes back to the system, which reads
// them again if they are asked for.
void DropPages(const void* bytes, size_t size);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_ARENA_H_
