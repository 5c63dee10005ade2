#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/x86/quantize.h"

extern "C" void quantize_f32_avx2(const QuantizeArgs<float>& args) { Quantize(args); }
