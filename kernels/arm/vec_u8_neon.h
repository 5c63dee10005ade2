// The primitives of kernels/generic/ for pixels, with Advanced SIMD; see
// kernels/portable/vec_u8.h.
#ifndef TRIMTAB_KERNELS_ARM_VEC_U8_NEON_H_
#define TRIMTAB_KERNELS_ARM_VEC_U8_NEON_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/arm/vec_neon.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {vreinterpretq_s32_u32(vld1q_u32(p))}; }

inline F RoundToNearest(F x) {
#if defined(__aarch64__)
  return {vrndnq_f32(x.v)};
#else
  const F magic = Set(0x1.8p23f);
  return (x + magic) - magic;
#endif
}

// a[0], b[0], c[0], a[1], ...
inline void StoreInterleaved(float* p, F a, F b, F c) {
  const float32x4x3_t all = {{a.v, b.v, c.v}};
  vst3q_f32(p, all);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_U8_NEON_H_
