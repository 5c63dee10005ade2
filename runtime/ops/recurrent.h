// What recurrent operators share: sequences, and the product of a state with constant weights.
#ifndef TRIMTAB_OPS_RECURRENT_H_
#define TRIMTAB_OPS_RECURRENT_H_

#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"

namespace trimtab {

// Checks a sequence x: [steps, rows, gates * size], a state: [rows, size] and its weights
// [weight_gates * size, size].
Status CheckSequence(const Tensor& x, const Tensor& state, const Tensor& weights, int32_t gates,
                     int32_t weight_gates);

// The dimensions [steps, rows, size] of a sequence of states.
inline Dims SequenceDims(const Tensor& x, const Tensor& state) {
  Dims dims = x.dims;
  dims[2] = state.dims[1];
  return dims;
}

// y[rows, columns] = state[rows, depth] * weights^T + bias + residual.
class StateProduct {
 public:
  // `weights`: [columns, depth], packed for the plan's kernel; `bias` may be null.
  Status Bind(const ProductPlan& plan, const Tensor& weights, const Tensor* bias, int threads);
  uint64_t scratch_bytes() const { return gemm_.scratch_bytes(); }

  // `residual`: null, or rows that are `residual_stride` apart; rows of y are `stride` apart.
  void Run(const float* state, size_t rows, const float* residual, size_t residual_stride, float* y,
           size_t stride, void* scratch, ThreadPool& pool) const;

 private:
  GemmDriver<float> gemm_;
  const Tensor* weights_ = nullptr;
  const Tensor* bias_ = nullptr;
};

// The order of the steps of a sequence, from its first or its last one.
struct Steps {
  size_t count;
  bool reverse;

  size_t at(size_t i) const { return reverse ? count - 1 - i : i; }
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_RECURRENT_H_
