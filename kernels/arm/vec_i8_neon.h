// Vectors of int8 values for Advanced SIMD, and of their dequantized values; semantics:
// kernels/x86/vec_i8_avx512.h.
#ifndef TRIMTAB_KERNELS_ARM_VEC_I8_NEON_H_
#define TRIMTAB_KERNELS_ARM_VEC_I8_NEON_H_

#include <string.h>

#include "kernels/arm/multiply_add.h"
#include "kernels/arm/requantize.h"

namespace {

using Element = int8_t;
constexpr size_t kLanes = 16;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores

struct F {
  int8x16_t v;
};

inline F Load(const int8_t* p) { return {vld1q_s8(p)}; }
inline void Store(int8_t* p, F a) { vst1q_s8(p, a.v); }
inline F LoadPartial(const int8_t* p, size_t count) {
  int8_t part[kLanes] = {};
  memcpy(part, p, count);
  return Load(part);
}
inline void StorePartial(int8_t* p, F a, size_t count) {
  int8_t part[kLanes];
  Store(part, a);
  memcpy(p, part, count);
}
inline F Max(F a, F b) { return {vmaxq_s8(a.v, b.v)}; }

constexpr int kQuarters = 4;
struct I32Vector {
  int32x4_t v;
};
struct F32Vector {
  float32x4_t v;
};
template <int kQuarter>
inline I32Vector WidenQuarter(F a) {
  const int16x8_t half = kQuarter < 2 ? vmovl_s8(vget_low_s8(a.v)) : vmovl_high_s8(a.v);
  return {kQuarter % 2 == 0 ? vmovl_s16(vget_low_s16(half)) : vmovl_high_s16(half)};
}
inline I32Vector SetI32(int32_t x) { return {vdupq_n_s32(x)}; }
inline I32Vector LoadI32(const int32_t* p) { return {vld1q_s32(p)}; }
inline void StoreI32(int32_t* p, I32Vector a) { vst1q_s32(p, a.v); }
inline I32Vector operator+(I32Vector a, I32Vector b) { return {vaddq_s32(a.v, b.v)}; }
inline F32Vector ToF32(I32Vector a) { return {vcvtq_f32_s32(a.v)}; }
inline F32Vector SetF32(float x) { return {vdupq_n_f32(x)}; }
inline F32Vector LoadF32(const float* p) { return {vld1q_f32(p)}; }
inline F32Vector Fma(F32Vector a, F32Vector b, F32Vector c) { return {MultiplyAdd(c.v, a.v, b.v)}; }
inline F32Vector operator*(F32Vector a, F32Vector b) { return {vmulq_f32(a.v, b.v)}; }
inline F32Vector Max(F32Vector a, F32Vector b) { return {vmaxq_f32(a.v, b.v)}; }

struct Quantizer {
  Limits limits;

  Quantizer(int32_t zero_point, int32_t low, int32_t high) : limits(zero_point, low, high) {}
  template <typename Args>
  explicit Quantizer(const Args& args) : limits(args) {}

  F operator()(const F32Vector (&a)[kQuarters]) const {
    return {limits.Narrow(RoundToI32(a[0].v), RoundToI32(a[1].v), RoundToI32(a[2].v),
                          RoundToI32(a[3].v))};
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_I8_NEON_H_
