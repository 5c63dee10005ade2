// The portable depthwise convolution.
#ifndef TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_
#define TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_

#include "kernels/generic/depthwise_scalar.h"

namespace {

// Sums are float for every element type.
template <typename T>
inline void DepthwisePortable(const DepthwiseArgs<T>& args) {
  DepthwiseScalar<float>(args, [&](float sum, size_t) {
    sum = args.clamp_min > sum ? args.clamp_min : sum;
    return args.clamp_max < sum ? args.clamp_max : sum;
  });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_
