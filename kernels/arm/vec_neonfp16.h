// The primitives of kernels/generic/ for f16 on cores that compute in it (FEAT_FP16); semantics:
// kernels/portable/vec_scalar.h. Max and Min return NaN if either operand is NaN. There are no
// integers: functions that decompose floats need more precision (vec_neonhalf.h).
#ifndef TRIMTAB_KERNELS_ARM_VEC_NEONFP16_H_
#define TRIMTAB_KERNELS_ARM_VEC_NEONFP16_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/arm/advance.h"
#include "kernels/kernel_api.h"

namespace {

using Element = Half;
constexpr size_t kLanes = 8;
constexpr int kVectorsPerAccess = 2;  // vectors that one instruction loads and stores
// The most vectors that one instruction stores, if registers allow it.
constexpr int kMaxVectorsPerAccess = 4;

struct F {
  float16x8_t v;
};
struct M {
  uint16x8_t v;
};

inline F Set(float x) { return {vdupq_n_f16(static_cast<float16_t>(x))}; }
inline F Load(const Half* p) { return {vreinterpretq_f16_u16(vld1q_u16(&p->bits))}; }
inline void Store(Half* p, F a) { vst1q_u16(&p->bits, vreinterpretq_u16_f16(a.v)); }

}  // namespace

#include "kernels/arm/partial_vectors_f16.h"

namespace {

inline void LoadAndAdvance(const Half*& p, size_t n, F (&x)[2]) {
  const uint16x8x2_t both = vld1q_u16_x2(&p->bits);
  Advance(p, n);
  x[0].v = vreinterpretq_f16_u16(both.val[0]);
  x[1].v = vreinterpretq_f16_u16(both.val[1]);
}
inline void LoadAndAdvance(const Half*& p, size_t n, F (&x)[4]) {
  const uint16x8x4_t all = vld1q_u16_x4(&p->bits);
  Advance(p, n);
  x[0].v = vreinterpretq_f16_u16(all.val[0]);
  x[1].v = vreinterpretq_f16_u16(all.val[1]);
  x[2].v = vreinterpretq_f16_u16(all.val[2]);
  x[3].v = vreinterpretq_f16_u16(all.val[3]);
}
inline void StoreAndAdvance(Half*& p, size_t n, const F (&x)[2]) {
  const uint16x8x2_t both = {{vreinterpretq_u16_f16(x[0].v), vreinterpretq_u16_f16(x[1].v)}};
  vst1q_u16_x2(&p->bits, both);
  Advance(p, n);
}
inline void StoreAndAdvance(Half*& p, size_t n, const F (&x)[4]) {
  const uint16x8x4_t all = {{vreinterpretq_u16_f16(x[0].v), vreinterpretq_u16_f16(x[1].v),
                             vreinterpretq_u16_f16(x[2].v), vreinterpretq_u16_f16(x[3].v)}};
  vst1q_u16_x4(&p->bits, all);
  Advance(p, n);
}

// Forces the compiler to compute `a` here, not later.
inline void ForceEvaluation(F& a) { __asm__ volatile("" : "+w"(a.v)); }

inline F operator+(F a, F b) { return {vaddq_f16(a.v, b.v)}; }
inline F operator-(F a, F b) { return {vsubq_f16(a.v, b.v)}; }
inline F operator*(F a, F b) { return {vmulq_f16(a.v, b.v)}; }
inline F Divide(F a, F b) { return {vdivq_f16(a.v, b.v)}; }
inline F Fma(F a, F b, F c) { return {vfmaq_f16(c.v, a.v, b.v)}; }
inline F Max(F a, F b) { return {vmaxq_f16(a.v, b.v)}; }
inline F Min(F a, F b) { return {vminq_f16(a.v, b.v)}; }

inline M Less(F a, F b) { return {vcltq_f16(a.v, b.v)}; }
inline M IsNan(F a) { return {vmvnq_u16(vceqq_f16(a.v, a.v))}; }
inline F Select(M m, F yes, F no) { return {vbslq_f16(m.v, yes.v, no.v)}; }

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_NEONFP16_H_
