// Planes of images in plain order, copied with the padding of a window.
#ifndef TRIMTAB_OPS_PADDED_PLANES_H_
#define TRIMTAB_OPS_PADDED_PLANES_H_

#include "runtime/core/tensor.h"
#include "runtime/ops/window.h"

namespace trimtab {

// The lines of a plane that a few rows of the result read. The elements of a line are sorted by
// their phase of the horizontal stride, so that a tap of neighboring windows reads adjacent ones.
class PaddedPlanes {
 public:
  static constexpr int32_t kRows = 16;  // of the result, whose lines a first-level cache holds

  void SetUp(const Window& window, const Tensor& x, const Tensor& y);

  // Number of the rows from `row` on that are computed together.
  size_t Rows(const Tensor& y, int32_t row) const;
  uint64_t elements() const { return uint64_t{lines_} * line_; }
  size_t row_step() const { return static_cast<size_t>(window_.stride_h) * line_; }
  // The offset of tap (i, j) of the first window of the first row, in elements.
  size_t Offset(int32_t i, int32_t j) const;

  // Copies what the rows from `row` on read of a plane, with zeros outside of the image.
  void Copy(const Tensor& x, size_t plane, int32_t row, float* to) const;

 private:
  Window window_;
  size_t phase_ = 0, line_ = 0, lines_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_PADDED_PLANES_H_
