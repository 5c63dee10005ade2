#include "kernels/arm/vec_neon.h"

#include "kernels/generic/softmax.h"

extern "C" void softmax_f32_neonv7(const SoftmaxF32Args& args) { Softmax(args); }
