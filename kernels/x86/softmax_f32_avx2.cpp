#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/softmax.h"

extern "C" void softmax_f32_avx2(const SoftmaxF32Args& args) { Softmax(args); }
