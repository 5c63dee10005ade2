// The primitives of kernels/generic/ for pixels in plain C++: words of bytes, computed in float.
#ifndef TRIMTAB_KERNELS_PORTABLE_VEC_PIXELS_H_
#define TRIMTAB_KERNELS_PORTABLE_VEC_PIXELS_H_

#define TRIMTAB_ELEMENT uint8_t
#include "kernels/portable/vec_scalar.h"

namespace {

inline I LoadWords(const uint32_t* p) { return {*p}; }

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_VEC_PIXELS_H_
