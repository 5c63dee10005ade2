// Requantizes int32 sums, one at a time.
#ifndef TRIMTAB_KERNELS_GENERIC_REQUANTIZE_H_
#define TRIMTAB_KERNELS_GENERIC_REQUANTIZE_H_

#include <stddef.h>

#include "kernels/generic/rounding.h"

namespace {

// Requantizes a value in units of the output scale.
template <typename Args>
inline int8_t Rounded(const Args& args, float value) {
  const auto low = static_cast<float>(args.low - args.zero_point);
  const auto high = static_cast<float>(args.high - args.zero_point);
  return static_cast<int8_t>(RoundBetween(value, low, high) + args.zero_point);
}

// Requantizes a sum of output channel `c`.
template <typename Args>
inline int8_t Requantize(const Args& args, int32_t sum, size_t c) {
  float value = static_cast<float>(sum) * args.scale[c];
  if (args.slope != nullptr && value < 0) value *= args.slope[c];
  return Rounded(args, value);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_REQUANTIZE_H_
