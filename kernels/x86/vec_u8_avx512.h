// The primitives of kernels/generic/ for pixels, with AVX-512; see kernels/portable/vec_u8.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_U8_AVX512_H_
#define TRIMTAB_KERNELS_X86_VEC_U8_AVX512_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/x86/vec_avx512.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {_mm512_loadu_si512(p)}; }

inline F RoundToNearest(F x) {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

// a[0], b[0], c[0], a[1], ...
inline void StoreInterleaved(float* p, F a, F b, F c) {
  float values[3][kLanes];
  Store(values[0], a);
  Store(values[1], b);
  Store(values[2], c);
  for (size_t i = 0; i < kLanes; ++i)
    for (size_t k = 0; k < 3; ++k) p[3 * i + k] = values[k][i];
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_U8_AVX512_H_
