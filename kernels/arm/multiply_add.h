// Multiply-adds of float vectors.
#ifndef TRIMTAB_KERNELS_ARM_MULTIPLY_ADD_H_
#define TRIMTAB_KERNELS_ARM_MULTIPLY_ADD_H_

#include <arm_neon.h>

namespace {

// a + b * c in one instruction; Armv8 rounds once, Armv7 also the product, since only VFPv4 can
// fuse.
inline float32x4_t MultiplyAdd(float32x4_t a, float32x4_t b, float32x4_t c) {
#if defined(__aarch64__)
  return vfmaq_f32(a, b, c);
#else
  return vmlaq_f32(a, b, c);
#endif
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_MULTIPLY_ADD_H_
