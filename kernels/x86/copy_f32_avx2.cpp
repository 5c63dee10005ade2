#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/roofline.h"

extern "C" void copy_f32_avx2(const UnaryF32Args& args) { Copy(args); }
