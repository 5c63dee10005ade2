#include "runtime/ops/requantise.h"

namespace trimtab {

Status CheckQuantisedOperands(const Tensor& x, const Tensor& w, const Tensor& bias,
                              const Tensor& scale) {
  TRIMTAB_CHECK(x.dtype == DType::kI8 && w.dtype == DType::kI8 && bias.dtype == DType::kI32 &&
                    scale.dtype == DType::kF32,
                "operands must be of i8, i8, i32 and f32");
  TRIMTAB_CHECK(scale.Count() == w.dims[0], "there is not one scale for each output channel",
                w.dims[0]);
  return Status();
}

Status ReadZeroPoint(const Tensor& tensor, int32_t* zero_point) {
  const Quantisation* const q = tensor.quantisation;
  TRIMTAB_CHECK(q != nullptr && q->axis == Quantisation::kPerTensor,
                "a tensor has no scale, or several");
  *zero_point = q->zero_points()[0];
  return Status();
}

}  // namespace trimtab
