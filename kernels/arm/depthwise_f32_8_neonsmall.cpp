#include "kernels/arm/vec_neon.h"

#include "kernels/generic/depthwise.h"

// A seventh of the code: one loop for windows of all sizes.
extern "C" void depthwise_f32_8_neonsmall(const DepthwiseArgs<float>& args) {
  DepthwiseWindows<2>(args);
}
