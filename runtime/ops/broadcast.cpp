#include "runtime/ops/broadcast.h"

namespace trimtab {

Status Broadcast::SetUp(const Tensor* const* operands, int count, Dims* y) {
  y->rank = 0;
  for (int i = 0; i < count; ++i) {
    if (operands[i]->dims.rank > y->rank) y->rank = operands[i]->dims.rank;
  }
  for (int axis = 0; axis < y->rank; ++axis) {
    int32_t extent = 1;
    for (int i = 0; i < count; ++i) {
      const Dims& dims = operands[i]->dims;
      const int own = axis - (y->rank - dims.rank);
      if (own < 0 || dims[own] == 1) continue;
      TRIMTAB_CHECK(extent == 1 || extent == dims[own], "operands cannot be broadcast (dimensions)",
                    extent, dims[own]);
      extent = dims[own];
    }
    (*y)[axis] = extent;
  }
  // A scalar is one row of one element.
  rank_ = y->rank > 0 ? y->rank : 1;
  extents_[0] = 1;
  for (int axis = 0; axis < y->rank; ++axis) extents_[axis] = static_cast<size_t>((*y)[axis]);
  for (int i = 0; i < count; ++i) {
    const Dims& dims = operands[i]->dims;
    size_t stride = 1;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const int own = axis - (y->rank - dims.rank);
      const bool moves = y->rank > 0 && own >= 0 && dims[own] != 1;
      strides_[i][axis] = moves ? stride : 0;
      if (moves) stride *= static_cast<size_t>(dims[own]);
    }
  }
  row_length_ = extents_[rank_ - 1];
  rows_ = 1;
  for (int axis = 0; axis < rank_ - 1; ++axis) rows_ *= extents_[axis];
  return Status();
}

size_t Broadcast::RowBegin(int i, size_t row) const {
  size_t begin = 0;
  for (int axis = rank_ - 2; axis >= 0; --axis) {
    begin += row % extents_[axis] * strides_[i][axis];
    row /= extents_[axis];
  }
  return begin;
}

}  // namespace trimtab
