#include "kernels/arm/vec_neon.h"

#include "kernels/generic/softmax.h"

extern "C" void softmax_f32_neon(const SoftmaxF32Args& args) { Softmax(args); }
