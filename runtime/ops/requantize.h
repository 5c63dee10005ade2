// What convolutions of quantized numbers have in common.
#ifndef TRIMTAB_OPS_REQUANTIZE_H_
#define TRIMTAB_OPS_REQUANTIZE_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {

// Checks the types of the operands, and that there is a scale for each output channel.
Status CheckQuantizedOperands(const Tensor& x, const Tensor& w, const Tensor& bias,
                              const Tensor& scale);

// Scales and slopes (or null) for kernels, which read `columns` of them. Slopes have to be from -1 to
// 1, and scales between these where there are slopes.
Status BindFactors(const Tensor& scale, const Tensor* slope, uint64_t columns,
                   Epilogue<int8_t>* epilogue);

// The zero point of a tensor, which must be quantized as a whole.
Status ReadZeroPoint(const Tensor& tensor, int32_t* zero_point);

// Bounds and zero point of the result `y`, for kernels: from the attributes of
// shared/requantize.toml.
template <typename Attributes, typename Args>
Status BindLimits(const Attributes& attributes, const Tensor& y, Args* args) {
  TRIMTAB_CHECK(attributes.clamp_min >= INT8_MIN && attributes.clamp_max <= INT8_MAX &&
                    attributes.clamp_min <= attributes.clamp_max,
                "bounds are outside of 8 bits, or in the wrong order (lower, upper)",
                attributes.clamp_min, attributes.clamp_max);
  args->low = static_cast<int32_t>(attributes.clamp_min);
  args->high = static_cast<int32_t>(attributes.clamp_max);
  return ReadZeroPoint(y, &args->zero_point);
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_REQUANTIZE_H_
