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
  // `tensor` must be quantized, with one scale per index of its axis.
  Status Prepare(const Tensor& tensor);

  // Calls run(first element, count, index of the scale) for all elements.
  template <typename F>
  void For(ThreadPool& pool, const F& run) const {
    if (axis_ == 1) {  // a single run, which threads may split anywhere
      pool.For(inner_, 1, [&](size_t begin, size_t end, int) { run(begin, end - begin, 0); });
      return;
    }
    pool.For(outer_ * axis_, inner_, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) run(i * inner_, inner_, i % axis_);
    });
  }

 private:
  size_t outer_ = 0, axis_ = 0,
         inner_ = 0;  // elements before, along and after the axis, in memory order
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_QUANTIZED_ROWS_H_
