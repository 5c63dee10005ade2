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

// Offset of the element or slice of x that row `row` of the indices [..., depth] selects along the
// first `depth` dimensions of x. It is counted in elements or slices.
inline size_t ElementOffset(const Tensor& indices, size_t row, int depth, const Dims& x) {
  size_t offset = 0;
  for (int i = 0; i < depth; ++i) {
    const size_t at = row * static_cast<size_t>(depth) + static_cast<size_t>(i);
    offset =
        offset * static_cast<size_t>(x[i]) + static_cast<size_t>(ElementIndex(indices, at, x[i]));
  }
  return offset;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_ELEMENT_INDEX_H_
