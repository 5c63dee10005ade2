#include "kernels/arm/depthwise_bytes.h"

extern "C" void depthwise_i8_16_neon(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16) return DepthwiseBytesOneByOne(args);
  Depthwise(args, WindowFor(args));
}
