// The primitives of kernels/generic/ for pixels, with AVX2; see kernels/portable/vec_pixels.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX2_H_
#define TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX2_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/x86/vec_avx2.h"

namespace {

inline I LoadWords(const uint32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX2_H_
