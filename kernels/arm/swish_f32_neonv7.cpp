#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void swish_f32_neonv7(const UnaryF32Args& args) {
  const F scale = LogisticScale(args.alpha);
  Map(args, [=](F x) { return Swish(x, scale); });
}
