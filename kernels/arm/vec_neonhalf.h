// The primitives of kernels/generic/ for f16 on every Armv8 core: vectors are float and are rounded
// when stored. For functions that need the precision or range of float in between.
#ifndef TRIMTAB_KERNELS_ARM_VEC_NEONHALF_H_
#define TRIMTAB_KERNELS_ARM_VEC_NEONHALF_H_

#include "kernels/kernel_api.h"

#define TRIMTAB_ELEMENT Half
#include "kernels/arm/vec_neon.h"

namespace {

inline F Load(const Half* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits)))}; }
inline void Store(Half* p, F a) { vst1_u16(&p->bits, vreinterpret_u16_f16(vcvt_f16_f32(a.v))); }

}  // namespace

#include "kernels/arm/partial_vectors_f16.h"

namespace {

inline void LoadAndAdvance(const Half*& p, size_t n, F (&x)[2]) {
  const float16x8_t both = vreinterpretq_f16_u16(vld1q_u16(&p->bits));
  Advance(p, n);
  x[0].v = vcvt_f32_f16(vget_low_f16(both));
  x[1].v = vcvt_high_f32_f16(both);
}
inline void LoadAndAdvance(const Half*& p, size_t n, F (&x)[4]) {
  const uint16x8x2_t all = vld1q_u16_x2(&p->bits);
  Advance(p, n);
  const float16x8_t first = vreinterpretq_f16_u16(all.val[0]);
  const float16x8_t last = vreinterpretq_f16_u16(all.val[1]);
  x[0].v = vcvt_f32_f16(vget_low_f16(first));
  x[1].v = vcvt_high_f32_f16(first);
  x[2].v = vcvt_f32_f16(vget_low_f16(last));
  x[3].v = vcvt_high_f32_f16(last);
}
inline void StoreAndAdvance(Half*& p, size_t n, const F (&x)[2]) {
  const float16x8_t both = vcvt_high_f16_f32(vcvt_f16_f32(x[0].v), x[1].v);
  vst1q_u16(&p->bits, vreinterpretq_u16_f16(both));
  Advance(p, n);
}
inline void StoreAndAdvance(Half*& p, size_t n, const F (&x)[4]) {
  uint16x8x2_t all;
  all.val[0] = vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x[0].v), x[1].v));
  all.val[1] = vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x[2].v), x[3].v));
  vst1q_u16_x2(&p->bits, all);
  Advance(p, n);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_VEC_NEONHALF_H_
