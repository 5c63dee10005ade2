#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void hard_swish_f32_neonv7(const UnaryF32Args& args) {
  Map(args, [](F x) { return HardSwish(x); });
}
