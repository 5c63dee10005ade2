#include "kernels/portable/depthwise_portable.h"

extern "C" void depthwise_f32_portable(const DepthwiseArgs<float>& args) {
  DepthwisePortable(args);
}
