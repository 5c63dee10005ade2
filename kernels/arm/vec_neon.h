// The primitives of kernels/generic/ for Advanced SIMD, of Armv8 and of Armv7;
// semantics: kernels/portable/vec_scalar.h. Max and Min return NaN if either operand is NaN. Armv7
// flushes denormals to zero. F is computed in float, whatever TRIMTAB_ELEMENT is (vec_neonhalf.h).
#ifndef TRIMTAB_KERNELS_ARM_VEC_NEON_H_
#define TRIMTAB_KERNELS_ARM_VEC_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/arm/advance.h"
#include "kernels/arm/multiply_add.h"

#ifndef TRIMTAB_ELEMENT
#define TRIMTAB_ELEMENT float
#endif

namespace {

using Element = TRIMTAB_ELEMENT;
constexpr size_t kLanes = 4;
constexpr int kVectorsPerAccess = 2;  // vectors that one instruction loads and stores

struct F {
  float32x4_t v;
};
struct I {
  int32x4_t v;
};
struct M {
  uint32x4_t v;
};

inline F Set(float x) { return {vdupq_n_f32(x)}; }
inline F Load(const float* p) { return {vld1q_f32(p)}; }
inline void Store(float* p, F a) { vst1q_f32(p, a.v); }
inline F LoadPartial(const float* p, size_t count) {
  if (count == kLanes) return Load(p);
  float32x4_t v = vdupq_n_f32(0.0f);
  if (count < 2) return {vld1q_lane_f32(p, v, 0)};
  v = vcombine_f32(vld1_f32(p), vget_high_f32(v));
  return {count == 2 ? v : vld1q_lane_f32(p + 2, v, 2)};
}
inline void StorePartial(float* p, F a, size_t count) {
  if (count == kLanes) return Store(p, a);
  if (count < 2) return vst1q_lane_f32(p, a.v, 0);
  vst1_f32(p, vget_low_f32(a.v));
  if (count == 3) vst1q_lane_f32(p + 2, a.v, 2);
}

#if defined(__aarch64__)
// Two vectors side by side; one instruction also advances the pointer by any step.
inline void LoadAndAdvance(const float*& p, size_t n, F (&x)[2]) {
  const float32x4x2_t both = vld1q_f32_x2(p);
  Advance(p, n);
  x[0].v = both.val[0];
  x[1].v = both.val[1];
}
inline void StoreAndAdvance(float*& p, size_t n, const F (&x)[2]) {
  const float32x4x2_t both = {{x[0].v, x[1].v}};
  vst1q_f32_x2(p, both);
  Advance(p, n);
}
// The most vectors that one instruction moves, if registers allow it.
constexpr int kMaxVectorsPerAccess = 4;
inline void LoadAndAdvance(const float*& p, size_t n, F (&x)[4]) {
  const float32x4x4_t all = vld1q_f32_x4(p);
  Advance(p, n);
  for (int v = 0; v < 4; ++v) x[v].v = all.val[v];
}
inline void StoreAndAdvance(float*& p, size_t n, const F (&x)[4]) {
  const float32x4x4_t all = {{x[0].v, x[1].v, x[2].v, x[3].v}};
  vst1q_f32_x4(p, all);
  Advance(p, n);
}
#else
constexpr int kMaxVectorsPerAccess = kVectorsPerAccess;
#endif

// Forces the compiler to compute `a` here, not later.
inline void ForceEvaluation(F& a) { __asm__ volatile("" : "+w"(a.v)); }

inline F operator+(F a, F b) { return {vaddq_f32(a.v, b.v)}; }
inline F operator-(F a, F b) { return {vsubq_f32(a.v, b.v)}; }
inline F operator*(F a, F b) { return {vmulq_f32(a.v, b.v)}; }
inline F Fma(F a, F b, F c) { return {MultiplyAdd(c.v, a.v, b.v)}; }
inline F Max(F a, F b) { return {vmaxq_f32(a.v, b.v)}; }
inline F Min(F a, F b) { return {vminq_f32(a.v, b.v)}; }

#if defined(__aarch64__)
inline F Divide(F a, F b) { return {vdivq_f32(a.v, b.v)}; }
inline F Sqrt(F a) { return {vsqrtq_f32(a.v)}; }
#else
// Armv7 only has an estimate; two Newton steps refine it to 2 ulp for 2^-126 <= b < 2^126, the
// range of the activations.
inline F Divide(F a, F b) {
  float32x4_t r = vrecpeq_f32(b.v);
  r = vmulq_f32(r, vrecpsq_f32(b.v, r));
  r = vmulq_f32(r, vrecpsq_f32(b.v, r));
  return {vmulq_f32(a.v, r)};
}
// Armv7 has square roots of scalars only.
inline F Sqrt(F a) {
  for (int i = 0; i < 4; ++i) a.v[i] = __builtin_sqrtf(a.v[i]);
  return a;
}
#endif

inline M Less(F a, F b) { return {vcltq_f32(a.v, b.v)}; }
inline M IsNan(F a) { return {vmvnq_u32(vceqq_f32(a.v, a.v))}; }
inline F Select(M m, F yes, F no) { return {vbslq_f32(m.v, yes.v, no.v)}; }

inline I SetBits(uint32_t x) { return {vdupq_n_s32(static_cast<int32_t>(x))}; }
inline I Bits(F a) { return {vreinterpretq_s32_f32(a.v)}; }
inline F FromBits(I a) { return {vreinterpretq_f32_s32(a.v)}; }
inline F ToFloat(I a) { return {vcvtq_f32_s32(a.v)}; }
inline I operator+(I a, I b) { return {vaddq_s32(a.v, b.v)}; }
inline I operator-(I a, I b) { return {vsubq_s32(a.v, b.v)}; }
inline I operator&(I a, I b) { return {vandq_s32(a.v, b.v)}; }
inline I operator|(I a, I b) { return {vorrq_s32(a.v, b.v)}; }
template <int kBits>
inline I ShiftLeft(I a) {
  return {vshlq_n_s32(a.v, kBits)};
}
template <int kBits>
inline I ShiftRight(I a) {
  return {vshrq_n_s32(a.v, kBits)};
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_NEON_H_
