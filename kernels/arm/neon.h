// Advanced SIMD for int8 kernels of Armv8 and Armv7. Intrinsics that only Armv8 has are composed of
// others, under their own names; intrinsics that some compilers lack for Armv7 are wrapped.
#ifndef TRIMTAB_KERNELS_ARM_NEON_H_
#define TRIMTAB_KERNELS_ARM_NEON_H_

#include <arm_neon.h>
#include <stdint.h>

namespace {

#if defined(__aarch64__)
inline int32x4_t RoundToI32(float32x4_t x) { return vcvtnq_s32_f32(x); }
inline int32x4x4_t LoadFourVectors(const int32_t* p) { return vld1q_s32_x4(p); }
inline float32x4x4_t LoadFourVectors(const float* p) { return vld1q_f32_x4(p); }
#else
// Rounds to the nearest integer, half to even, and adds 0x4b400000, whose last 22 bits are 0; for
// values in [low, high]: the bits of the sum with 1.5 * 2^23.
inline int32x4_t RoundIntoLowBits(float32x4_t x, float32x4_t low, float32x4_t high) {
  const float32x4_t between = vminq_f32(vmaxq_f32(x, low), high);
  return vreinterpretq_s32_f32(vaddq_f32(between, vdupq_n_f32(0x1.8p23f)));
}
// Values outside of int8 become at most 2^22, which is also outside.
inline int32x4_t RoundToI32(float32x4_t x) {
  const float32x4_t limit = vdupq_n_f32(0x1p22f);
  return vsubq_s32(RoundIntoLowBits(x, vnegq_f32(limit), limit), vdupq_n_s32(0x4b400000));
}
inline int32x4x4_t LoadFourVectors(const int32_t* p) {
  return {{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
}
inline float32x4x4_t LoadFourVectors(const float* p) {
  return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}

inline int16x8_t vmovl_high_s8(int8x16_t x) { return vmovl_s8(vget_high_s8(x)); }
inline int32x4_t vmovl_high_s16(int16x8_t x) { return vmovl_s16(vget_high_s16(x)); }
inline int32x4_t vaddw_high_s16(int32x4_t a, int16x8_t b) { return vaddw_s16(a, vget_high_s16(b)); }
inline int16x8_t vmull_high_s8(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_high_s8(a), vget_high_s8(b));
}
inline int16x8_t vmlal_high_s8(int16x8_t a, int8x16_t b, int8x16_t c) {
  return vmlal_s8(a, vget_high_s8(b), vget_high_s8(c));
}
inline int16x8_t vqmovn_high_s32(int16x4_t low, int32x4_t x) {
  return vcombine_s16(low, vqmovn_s32(x));
}
inline int8x16_t vqmovn_high_s16(int8x8_t low, int16x8_t x) {
  return vcombine_s8(low, vqmovn_s16(x));
}
#endif

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_NEON_H_
