// Pointers that loads and stores advance.
#ifndef TRIMTAB_KERNELS_ARM_ADVANCE_H_
#define TRIMTAB_KERNELS_ARM_ADVANCE_H_

#include <stddef.h>

namespace {

// Advances a pointer opaquely to the compiler, so that it uses post-increment.
constexpr bool kHasPostIncrement = true;
template <typename T>
inline void Advance(T*& p, size_t n) {
  p += n;
  __asm__("" : "+r"(p));
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_ADVANCE_H_
