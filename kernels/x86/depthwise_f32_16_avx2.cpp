#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/depthwise.h"

extern "C" void depthwise_f32_16_avx2(const DepthwiseF32Args& args) { Depthwise<2, 2, 2, 2>(args); }
