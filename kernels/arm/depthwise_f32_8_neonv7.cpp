#include "kernels/arm/vec_neon.h"

#include "kernels/arm/depthwise_sliding_window.h"

extern "C" void depthwise_f32_8_neonv7(const DepthwiseArgs<float>& args) {
  DepthwiseByRows<2>(args);
}
