// The results of operators that return the boxes of a detector.
#ifndef TRIMTAB_OPS_BOXES_OUTPUT_H_
#define TRIMTAB_OPS_BOXES_OUTPUT_H_

#include <stdint.h>

#include "runtime/core/tensor.h"
#include "runtime/ops/boxes.h"

namespace trimtab {

// A row of a result.
struct ScoredBox {
  Box box;
  float score;
  float label;
};

constexpr int32_t kBoxValues = 6;
static_assert(sizeof(ScoredBox) == kBoxValues * sizeof(float), "rows are adjacent");

// Sets types and sizes: y f32[images, rows, 6], counts i32[images], indices i32[images, rows].
inline void SetBoxOutputs(Tensor* y, Tensor* counts, Tensor* indices, int32_t images,
                          int64_t rows) {
  const auto n = static_cast<int32_t>(rows);
  y->dims = {3, {images, n, kBoxValues}};
  counts->dims = {1, {images}};
  indices->dims = {2, {images, n}};
  y->dtype = DType::kF32;
  counts->dtype = indices->dtype = DType::kI32;
  y->layout = counts->layout = indices->layout = Layout::kPlain;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_BOXES_OUTPUT_H_
