// Reads the elements of integer tensors of any type.
#ifndef TRIMTAB_OPS_INTEGER_ELEMENT_H_
#define TRIMTAB_OPS_INTEGER_ELEMENT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tensor.h"

namespace trimtab {

// Element `i` of an integer tensor. The type is tested per element, which branch prediction makes
// cheap, instead of one loop per type.
inline int64_t IntegerElement(const Tensor& x, size_t i) {
  switch (x.dtype) {
    case DType::kI8:
      return static_cast<const int8_t*>(x.raw)[i];
    case DType::kI32:
      return static_cast<const int32_t*>(x.raw)[i];
    case DType::kI64:
      return static_cast<const int64_t*>(x.raw)[i];
    default:  // u8 and bool
      return static_cast<const uint8_t*>(x.raw)[i];
  }
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_INTEGER_ELEMENT_H_
