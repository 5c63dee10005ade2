#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/roofline.h"

extern "C" void read_f32_portable(const UnaryF32Args& args) { Read(args); }
