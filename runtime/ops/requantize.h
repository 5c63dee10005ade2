// Common checks and parameters of convolutions of int8 values.
#ifndef TRIMTAB_OPS_REQUANTIZE_H_
#define TRIMTAB_OPS_REQUANTIZE_H_

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/ops/epilogue.h"

namespace trimtab {

// Checks the types of the operands, and that there is one scale per output channel.
Status CheckQuantizedOperands(const Tensor& x, const Tensor& w, const Tensor& bias,
                              const Tensor& scale);

// Sets scales and slopes (or null) of kernels, which read `columns` of them. Slopes must be in [-1,
// 1], and so must scales if there are slopes.
Status BindFactors(const Tensor& scale, const Tensor* slope, uint64_t columns,
                   Epilogue<int8_t>* epilogue);

// Reads the zero point of a tensor, which must be quantized per tensor.
Status ReadZeroPoint(const Tensor& tensor, int32_t* zero_point);

// Sets bounds and zero point of the result `y` from the attributes of shared/requantize.toml.
template <typename Attributes, typename Args>
Status BindLimits(const Attributes& attributes, const Tensor& y, Args* args) {
  TRIMTAB_CHECK(attributes.clamp_min >= INT8_MIN && attributes.clamp_max <= INT8_MAX &&
                    attributes.clamp_min <= attributes.clamp_max,
                "bounds are outside of int8 or reversed (lower, upper)", attributes.clamp_min,
                attributes.clamp_max);
  args->low = static_cast<int32_t>(attributes.clamp_min);
  args->high = static_cast<int32_t>(attributes.clamp_max);
  return ReadZeroPoint(y, &args->zero_point);
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_REQUANTIZE_H_
