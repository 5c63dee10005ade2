#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/softmax.h"

extern "C" void softmax_f32_avx512(const SoftmaxF32Args& args) { Softmax(args); }
