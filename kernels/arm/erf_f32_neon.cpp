#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/math.h"

extern "C" void erf_f32_neon(const UnaryF32Args& args) {
  Map(args, [](F x) { return Erf(x); });
}
