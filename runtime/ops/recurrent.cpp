#include "runtime/ops/recurrent.h"

#include <math.h>

namespace trimtab {

Status CheckSequence(const Tensor& x, const Tensor& state, const Tensor& weights, int32_t gates,
                     int32_t weight_gates) {
  TRIMTAB_CHECK(x.dims.rank == 3 && state.dims.rank == 2 && weights.dims.rank == 2,
                "a sequence has three dimensions, state and weights have two");
  const int64_t size = state.dims[1];
  TRIMTAB_CHECK(size >= 1 && state.dims[0] == x.dims[1] && x.dims[2] == gates * size,
                "the state does not fit the sequence (size)", size);
  TRIMTAB_CHECK(weights.dims[0] == weight_gates * size && weights.dims[1] == size,
                "the weights do not fit the state (size)", size);
  return Status();
}

Status StateProduct::Bind(const ProductPlan& plan, const Tensor& weights, const Tensor* bias,
                          int threads) {
  weights_ = &weights;
  bias_ = bias;
  return gemm_.Bind(plan, weights, bias, 1, weights.dims[0], weights.dims[1], 1, 0, threads);
}

void StateProduct::Run(const float* state, size_t rows, const float* residual,
                       size_t residual_stride, float* y, size_t stride, void* scratch,
                       ThreadPool& pool) const {
  const auto depth = static_cast<size_t>(weights_->dims[1]);
  const StridedRows<float> source{state, depth, depth, 0};
  GemmJob<float> job;
  job.point = PointAtStridedRows<float>;
  job.context = &source;
  job.w = weights_->data<float>();
  job.bias = bias_ == nullptr ? nullptr : bias_->data<float>();
  job.residual = residual;
  job.c = y;
  job.groups = job.lines = 1;
  job.line_rows = rows;
  job.columns = static_cast<size_t>(weights_->dims[0]);
  job.row_stride = stride;
  job.residual_stride = residual_stride;
  job.depth = depth;
  job.line_stride = 0;
  Epilogue<float> epilogue;
  epilogue.clamp_min = -INFINITY;
  epilogue.clamp_max = INFINITY;
  gemm_.Run(job, epilogue, scratch, pool);
}

}  // namespace trimtab
