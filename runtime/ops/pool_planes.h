// Pooling of images in plain order: the class of max_pool_planes and average_pool_planes.
#ifndef TRIMTAB_OPS_POOL_PLANES_H_
#define TRIMTAB_OPS_POOL_PLANES_H_

#include "generated/attributes/max_pool_planes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/window.h"

namespace trimtab {

// The lines of windows are combined into padded ones, and then their columns, by kernels of two
// operands: add or max.
class PoolPlanes final : public OperatorOf<MaxPoolPlanesAttributes> {
 public:
  explicit PoolPlanes(bool is_mean) : is_mean_(is_mean) {}

 private:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

  // Combines the taps `used` of a column, for `rows` rows from `row` on of the plane at x.
  void CombineLines(const float* x, int32_t row, size_t rows, TapRange used, float* lines) const;
  // Combines the taps of a row, for `rows` rows at `lines`; `sums`: scratch memory of their size.
  void CombineColumns(const float* lines, size_t rows, float* sums, float* y) const;

  const bool is_mean_;
  Kernel<BinaryArgs<float>> kernel_ = nullptr;
  Window window_;
  size_t line_ = 0;  // elements of a padded line
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_POOL_PLANES_H_
