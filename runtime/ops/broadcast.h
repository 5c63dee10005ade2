// Iterates over row-major operands that are broadcast to one shape, row by row.
#ifndef TRIMTAB_OPS_BROADCAST_H_
#define TRIMTAB_OPS_BROADCAST_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

class Broadcast {
 public:
  static constexpr int kMaxOperands = 3;

  // Sets `y` to the shape that all operands broadcast to.
  Status SetUp(const Tensor* const* operands, int count, Dims* y);

  // Number of rows of the result.
  size_t rows() const { return rows_; }
  size_t row_length() const { return row_length_; }
  // Offset of operand `i` at the start of a row, in elements.
  size_t RowBegin(int i, size_t row) const;
  size_t Step(int i) const { return strides_[i][rank_ - 1]; }

 private:
  int rank_ = 1;
  size_t rows_ = 0, row_length_ = 0;
  size_t extents_[Dims::kMaxRank];
  size_t strides_[kMaxOperands][Dims::kMaxRank];
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BROADCAST_H_
