#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/depthwise.h"

extern "C" void depthwise_f32_16_avx512(const DepthwiseF32Args& args) {
  Depthwise<2, 2, 4, 1>(args);
}
