#include "kernels/arm/vec_neon.h"

#include "kernels/generic/roofline.h"

extern "C" void peak_f32_neon(const UnaryF32Args& args) { Peak(args); }
