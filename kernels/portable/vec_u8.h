// The primitives of kernels/generic/ for pixels in plain C++: words of bytes, computed in float.
#ifndef TRIMTAB_KERNELS_PORTABLE_VEC_U8_H_
#define TRIMTAB_KERNELS_PORTABLE_VEC_U8_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/portable/vec_scalar.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {*p}; }

// The nearest whole number, half to even, of |x| <= 2^22; the addition rounds (rounding.h).
inline F RoundToNearest(F x) {
  const F magic = Set(0x1.8p23f);
  return (x + magic) - magic;
}

// a[0], b[0], c[0], a[1], ...
inline void StoreInterleaved(float* p, F a, F b, F c) {
  p[0] = a.v;
  p[1] = b.v;
  p[2] = c.v;
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_VEC_U8_H_
