// The primitives of kernels/generic/ for pixels, with Advanced SIMD; see
// kernels/portable/vec_pixels.h.
#ifndef TRIMTAB_KERNELS_ARM_VEC_PIXELS_NEON_H_
#define TRIMTAB_KERNELS_ARM_VEC_PIXELS_NEON_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/arm/vec_neon.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {vreinterpretq_s32_u32(vld1q_u32(p))}; }

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_PIXELS_NEON_H_
