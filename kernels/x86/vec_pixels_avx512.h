// The primitives of kernels/generic/ for pixels, with AVX-512; see kernels/portable/vec_pixels.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX512_H_
#define TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX512_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/x86/vec_avx512.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {_mm512_loadu_si512(p)}; }

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_PIXELS_AVX512_H_
