#include "kernels/x86/vec_i8_avx512.h"

#include "kernels/x86/quantize.h"

extern "C" void quantize_f32_avx512(const QuantizeArgs<float>& args) { Quantize(args); }
