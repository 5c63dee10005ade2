#include "kernels/arm/vec_neon.h"

#include "kernels/generic/roofline.h"

extern "C" void copy_f32_neon(const UnaryF32Args& args) { Copy(args); }
