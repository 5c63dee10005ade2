// Element indices from a tensor of int32 or int64.
#ifndef TRIMTAB_OPS_ELEMENT_INDEX_H_
#define TRIMTAB_OPS_ELEMENT_INDEX_H_

#include "runtime/core/tensor.h"

namespace trimtab {

// Index i along an axis of `length` elements. Computed indices cannot be checked before Run, which
// cannot fail: an index out of range is clamped.
inline int64_t ElementIndex(const Tensor& indices, size_t i, int64_t length) {
  int64_t index = indices.dtype == DType::kI64 ? static_cast<const int64_t*>(indices.raw)[i]
                                               : static_cast<const int32_t*>(indices.raw)[i];
  if (index < 0) index += length;
  return index < 0 ? 0 : index >= length ? length - 1 : index;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_ELEMENT_INDEX_H_
