#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/depthwise.h"

extern "C" void depthwise_f32_32_avx512(const DepthwiseF32Args& args) { Depthwise<2>(args); }
