#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/math.h"

extern "C" void exp_f32_neonv7(const UnaryF32Args& args) {
  Map(args, [](F x) { return Exp(x); });
}
