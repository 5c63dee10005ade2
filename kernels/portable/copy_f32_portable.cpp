#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/roofline.h"

extern "C" void copy_f32_portable(const UnaryF32Args& args) { Copy(args); }
