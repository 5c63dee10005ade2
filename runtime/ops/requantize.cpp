#include "runtime/ops/requantize.h"

namespace trimtab {

Status CheckQuantizedOperands(const Tensor& x, const Tensor& w, const Tensor& bias,
                              const Tensor& scale) {
  TRIMTAB_CHECK(x.dtype == DType::kI8 && w.dtype == DType::kI8 && bias.dtype == DType::kI32 &&
                    scale.dtype == DType::kF32,
                "operands must be of i8, i8, i32 and f32");
  TRIMTAB_CHECK(scale.Count() == w.dims[0], "one scale per output channel is needed", w.dims[0]);
  return Status();
}

Status BindFactors(const Tensor& scale, const Tensor* slope, uint64_t columns,
                   Epilogue<int8_t>* epilogue) {
  const uint64_t bytes = columns * sizeof(float);
  TRIMTAB_CHECK(scale.bytes >= bytes, "packed scales are too short", static_cast<int64_t>(columns));
  epilogue->scale = scale.data<float>();
  if (slope == nullptr) return Status();
  TRIMTAB_CHECK(slope->dtype == DType::kF32 && slope->bytes >= bytes,
                "packed slopes are too short, or not of f32", static_cast<int64_t>(columns));
  epilogue->slope = slope->data<float>();
  for (uint64_t i = 0; i < columns; ++i) {
    const float a = epilogue->scale[i], b = epilogue->slope[i];
    TRIMTAB_CHECK(a > -1 && a < 1 && b >= -1 && b <= 1,
                  "a slope or its scale is outside [-1, 1] (its index)", static_cast<int64_t>(i));
  }
  return Status();
}

Status ReadZeroPoint(const Tensor& tensor, int32_t* zero_point) {
  const Quantization* const q = tensor.quantization;
  TRIMTAB_CHECK(q != nullptr && q->axis == Quantization::kPerTensor,
                "a tensor must have one scale");
  *zero_point = q->zero_points()[0];
  return Status();
}

}  // namespace trimtab
