#include "kernels/generic/softmax.h"
#include "kernels/portable/vec_scalar.h"

extern "C" void softmax_f32_portable(const SoftmaxF32Args& args) { Softmax(args); }
