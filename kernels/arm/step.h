// Pointers that loads and stores move on.
#ifndef TRIMTAB_KERNELS_ARM_STEP_H_
#define TRIMTAB_KERNELS_ARM_STEP_H_

#include <stddef.h>

namespace {

// Moves a pointer on; the compiler, which may not see through it, lets a load or store do so.
constexpr bool kLoadsStep = true;
template <typename T>
inline void Step(T*& p, size_t n) {
  p += n;
  __asm__("" : "+r"(p));
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_STEP_H_
