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
  // A scalar is one run of one element.
  rank_ = 1;
  extents_[0] = 1;
  size_t strides[kMaxOperands];  // of the next axis that the operand does not repeat
  for (int i = 0; i < count; ++i) {
    strides[i] = 1;
    strides_[i][0] = 0;
  }
  // From the innermost axis on, which is the first one here.
  bool is_first = true;
  for (int axis = y->rank - 1; axis >= 0; --axis) {
    if ((*y)[axis] == 1) continue;
    size_t own_strides[kMaxOperands];
    bool merges = !is_first;
    for (int i = 0; i < count; ++i) {
      const Dims& dims = operands[i]->dims;
      const int own = axis - (y->rank - dims.rank);
      const bool moves = own >= 0 && dims[own] != 1;
      own_strides[i] = moves ? strides[i] : 0;
      if (moves) strides[i] *= static_cast<size_t>(dims[own]);
      merges = merges && own_strides[i] == extents_[rank_ - 1] * strides_[i][rank_ - 1];
    }
    if (merges) {
      extents_[rank_ - 1] *= static_cast<size_t>((*y)[axis]);
      continue;
    }
    if (!is_first) ++rank_;
    is_first = false;
    extents_[rank_ - 1] = static_cast<size_t>((*y)[axis]);
    for (int i = 0; i < count; ++i) strides_[i][rank_ - 1] = own_strides[i];
  }
  return Status();
}

size_t Broadcast::Count() const {
  size_t count = 1;
  for (int axis = 0; axis < rank_; ++axis) count *= extents_[axis];
  return count;
}

BroadcastRun Broadcast::RunAt(size_t begin, size_t end) const {
  BroadcastRun run = {begin, Min(end - begin, extents_[0] - begin % extents_[0]), {}};
  for (int axis = 0; axis < rank_; ++axis) {
    const size_t at = begin % extents_[axis];
    begin /= extents_[axis];
    for (int i = 0; i < kMaxOperands; ++i) run.offsets[i] += at * strides_[i][axis];
  }
  return run;
}

}  // namespace trimtab
