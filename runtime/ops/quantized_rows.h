// Runs of elements of a tensor that share a scale and a zero point.
#ifndef TRIMTAB_OPS_QUANTIZED_ROWS_H_
#define TRIMTAB_OPS_QUANTIZED_ROWS_H_

#include "runtime/core/parallel.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

class QuantizedRows {
 public:
  // `tensor` must be quantized, with as many scales as its axis is long.
  Status Prepare(const Tensor& tensor);

  // Calls run(first element, how many, index of the scale) for all elements.
  template <typename F>
  void For(ThreadPool& pool, const F& run) const {
    if (axis_ == 1) {  // one run, of any parts
      pool.For(inner_, 1, [&](size_t begin, size_t end, int) { run(begin, end - begin, 0); });
      return;
    }
    pool.For(outer_ * axis_, inner_, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) run(i * inner_, inner_, i % axis_);
    });
  }

 private:
  size_t outer_ = 0, axis_ = 0, inner_ = 0;  // how the axis parts the elements, as they lie
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_QUANTIZED_ROWS_H_
