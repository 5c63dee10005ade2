// The arguments of the kernel, which the operator fills in.
#ifndef EVERYTHING_KERNELS_GENERIC_SWELL_ARGS_H_
#define EVERYTHING_KERNELS_GENERIC_SWELL_ARGS_H_

#include <stddef.h>

// y[i] = x[i] * (1 + gain * |x[i]|)
template <typename T>
struct SwellArgs {
  const T* x;
  T* y;
  size_t n;
  float gain;
};

#endif  // EVERYTHING_KERNELS_GENERIC_SWELL_ARGS_H_
