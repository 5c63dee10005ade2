#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/softmax.h"

extern "C" void log_softmax_f32_portable(const SoftmaxF32Args& args) { LogSoftmax(args); }
