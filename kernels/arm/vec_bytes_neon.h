// Vectors of int8 values for Advanced SIMD, and of their dequantized values; semantics:
// kernels/x86/vec_bytes_avx512.h.
#ifndef TRIMTAB_KERNELS_ARM_VEC_BYTES_NEON_H_
#define TRIMTAB_KERNELS_ARM_VEC_BYTES_NEON_H_

#include <string.h>

#include "kernels/arm/multiply_add.h"
#include "kernels/arm/requantize.h"

namespace {

using Element = int8_t;
constexpr size_t kLanes = 16;
constexpr int kSideBySide = 1;  // vectors that one instruction loads and stores

struct F {
  int8x16_t v;
};

inline F Load(const int8_t* p) { return {vld1q_s8(p)}; }
inline void Store(int8_t* p, F a) { vst1q_s8(p, a.v); }
inline F LoadPart(const int8_t* p, size_t count) {
  int8_t part[kLanes] = {};
  memcpy(part, p, count);
  return Load(part);
}
inline void StorePart(int8_t* p, F a, size_t count) {
  int8_t part[kLanes];
  Store(part, a);
  memcpy(p, part, count);
}
inline F Max(F a, F b) { return {vmaxq_s8(a.v, b.v)}; }

constexpr int kQuarters = 4;
struct Numbers {
  int32x4_t v;
};
struct Reals {
  float32x4_t v;
};
template <int kQuarter>
inline Numbers Quarter(F a) {
  const int16x8_t half = kQuarter < 2 ? vmovl_s8(vget_low_s8(a.v)) : vmovl_high_s8(a.v);
  return {kQuarter % 2 == 0 ? vmovl_s16(vget_low_s16(half)) : vmovl_high_s16(half)};
}
inline Numbers SetNumber(int32_t x) { return {vdupq_n_s32(x)}; }
inline Numbers LoadNumbers(const int32_t* p) { return {vld1q_s32(p)}; }
inline void StoreNumbers(int32_t* p, Numbers a) { vst1q_s32(p, a.v); }
inline Numbers operator+(Numbers a, Numbers b) { return {vaddq_s32(a.v, b.v)}; }
inline Reals ToReals(Numbers a) { return {vcvtq_f32_s32(a.v)}; }
inline Reals SetReal(float x) { return {vdupq_n_f32(x)}; }
inline Reals LoadReals(const float* p) { return {vld1q_f32(p)}; }
inline Reals Fma(Reals a, Reals b, Reals c) { return {MultiplyAdd(c.v, a.v, b.v)}; }
inline Reals operator*(Reals a, Reals b) { return {vmulq_f32(a.v, b.v)}; }
inline Reals Max(Reals a, Reals b) { return {vmaxq_f32(a.v, b.v)}; }

struct Rounding {
  Limits limits;

  Rounding(int32_t zero_point, int32_t low, int32_t high) : limits(zero_point, low, high) {}
  template <typename Args>
  explicit Rounding(const Args& args) : limits(args) {}

  F operator()(const Reals (&a)[kQuarters]) const {
    return {
        limits.Store(ToNearest(a[0].v), ToNearest(a[1].v), ToNearest(a[2].v), ToNearest(a[3].v))};
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_BYTES_NEON_H_
