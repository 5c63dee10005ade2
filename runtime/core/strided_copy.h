// Copies a box of elements from one strided view to another: the common part of transpose, slice,
// concat and similar operators.
#ifndef TRIMTAB_CORE_STRIDED_COPY_H_
#define TRIMTAB_CORE_STRIDED_COPY_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

class StridedCopy {
 public:
  explicit StridedCopy(size_t element_bytes) : element_bytes_(element_bytes) {}

  // Adds an axis of `extent` elements, at most kMaxAxes of them, in any order. Strides are in
  // elements; `from_stride` may be 0 (repeat) or negative, `to_stride` must be positive.
  void AddAxis(int64_t extent, ptrdiff_t from_stride, ptrdiff_t to_stride);

  // Addresses are those of the box's first element. Call once.
  void Run(const void* from, void* to, ThreadPool& pool);

 private:
  static constexpr int kMaxAxes = 2 * Dims::kMaxRank;  // tile splits every dimension in two

  struct Axis {
    size_t extent;
    ptrdiff_t from, to;
  };

  void MergeAxes();

  size_t element_bytes_;
  int count_ = 0;
  bool empty_ = false;
  Axis axes_[kMaxAxes];  // by falling `to` stride, so that writes move forward
};

// Distance in elements between neighbors along each logical dimension.
void LogicalStrides(const Tensor& tensor, ptrdiff_t* strides);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_STRIDED_COPY_H_
