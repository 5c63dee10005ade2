// Copies bytes. Tensors do not use the C library's memcpy: small static binaries link one that is
// built for size and moves one byte at a time.
#ifndef TRIMTAB_CORE_COPY_H_
#define TRIMTAB_CORE_COPY_H_

#include <stddef.h>

namespace trimtab {

// The ranges must not overlap.
void Copy(void* to, const void* from, size_t bytes);

// Copies an element of 1, 2, 4 or 8 bytes. Predicted branches: a loop per size would be four times
// the code.
inline void CopyElement(void* to, const void* from, size_t bytes) {
  switch (bytes) {
    case 1:
      __builtin_memcpy(to, from, 1);
      break;
    case 2:
      __builtin_memcpy(to, from, 2);
      break;
    case 4:
      __builtin_memcpy(to, from, 4);
      break;
    default:
      __builtin_memcpy(to, from, 8);
      break;
  }
}

}  // namespace trimtab

#endif  // TRIMTAB_CORE_COPY_H_
