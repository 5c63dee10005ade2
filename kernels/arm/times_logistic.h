// x / (1 + e^-z), computed in f16, eight elements at once: half as many instructions as in float.
#ifndef TRIMTAB_KERNELS_ARM_TIMES_LOGISTIC_H_
#define TRIMTAB_KERNELS_ARM_TIMES_LOGISTIC_H_

#include "kernels/arm/vec_neonfp16.h"

namespace {

// `size` is |z|; `is_negative` tells where z < 0.
//
// With h = e^(-|z| / 2), the result is x / (1 + h^2), or x h h / (1 + h^2) where z < 0. The root of
// the exponential is a normal number up to |z| = 19, and 0 from 22 on; the order of the factors
// keeps intermediate results normal, too.
inline F TimesLogistic(F x, F size, uint16x8_t is_negative) {
  F r = Min(size, Set(22.2f));
  // h = 2^-n e^(-r/2) with |r| <= ln 2: r = |z| - n 2 ln 2, of which the first part is exact.
  const F n = {vrndnq_f16((r * Set(0.72134752f)).v)};
  r.v = vfmsq_f16(r.v, n.v, Set(1.3828125f).v);
  r.v = vfmsq_f16(r.v, n.v, Set(3.4818611e-3f).v);
  F q = Set(-2.08129883e-2f);  // (e^(-r/2) - 1) / r: 1.4e-4 of e^(-r/2)
  q = Fma(q, r, Set(0.12597656f));
  q = Fma(q, r, Set(-0.5f));
  const F one = Set(1.0f), p = Fma(q, r, one);
  const uint16x8_t exponent = vshlq_n_u16(vcvtq_u16_f16(n.v), 10);
  const F h = {vreinterpretq_f16_u16(vqsubq_u16(vreinterpretq_u16_f16(p.v), exponent))};
  // A Newton step refines the estimate of 8 bits.
  const F sum = Fma(h, h, one);
  const float16x8_t near = vrecpeq_f16(sum.v);
  const F inverse = {vmulq_f16(near, vrecpsq_f16(sum.v, near))};
  const F factor = Select({is_negative}, h, one);
  return x * factor * (factor * inverse);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_TIMES_LOGISTIC_H_
