#include "kernels/arm/depthwise_i8.h"

extern "C" void depthwise_i8_16_neon(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16)
    return DepthwiseFewChannels<16>(args, {depthwise_i8_16_neon, DepthwiseContiguous});
  Depthwise(args, WindowFunctionFor(args));
}
