#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/roofline.h"

extern "C" void peak_f32_avx512(const UnaryF32Args& args) { Peak(args); }
