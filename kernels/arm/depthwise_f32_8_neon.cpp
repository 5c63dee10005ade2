#include "kernels/arm/vec_neon.h"

#include "kernels/generic/depthwise.h"

extern "C" void depthwise_f32_8_neon(const DepthwiseF32Args& args) { Depthwise<2, 1, 2, 2>(args); }
