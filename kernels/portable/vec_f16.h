// The primitives of kernels/generic/ for f16 in plain C++: rounded when stored, computed in float.
#ifndef TRIMTAB_KERNELS_PORTABLE_VEC_F16_H_
#define TRIMTAB_KERNELS_PORTABLE_VEC_F16_H_

#include "kernels/kernel_api.h"

#define TRIMTAB_ELEMENT Half
#include "kernels/portable/vec_scalar.h"

#endif  // TRIMTAB_KERNELS_PORTABLE_VEC_F16_H_
