// Sums of products of quantised numbers as quantised numbers, one by one.
#ifndef TRIMTAB_KERNELS_GENERIC_REQUANTISE_H_
#define TRIMTAB_KERNELS_GENERIC_REQUANTISE_H_

#include "kernels/generic/rounding.h"

namespace {

template <typename Args>
inline int8_t Requantise(const Args& args, int32_t sum, float scale) {
  const auto low = static_cast<float>(args.low - args.zero_point);
  const auto high = static_cast<float>(args.high - args.zero_point);
  const int32_t value = RoundBetween(static_cast<float>(sum) * scale, low, high);
  return static_cast<int8_t>(value + args.zero_point);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_REQUANTISE_H_
