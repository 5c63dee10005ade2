#include "kernels/generic/depthwise_scalar.h"

extern "C" void depthwise_i8_portable(const DepthwiseArgs<int8_t>& args) {
  DepthwiseI8Scalar(args);
}
