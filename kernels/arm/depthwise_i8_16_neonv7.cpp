#include "kernels/arm/depthwise_i8.h"

extern "C" void depthwise_i8_16_neonv7(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16)
    return DepthwiseFewChannels<16>(args, {depthwise_i8_16_neonv7, DepthwiseContiguous});
  Depthwise(args, WindowFunctionFor(args));
}
