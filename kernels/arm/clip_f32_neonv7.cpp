#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void clip_f32_neonv7(const UnaryF32Args& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return Clamp(x, alpha, beta); });
}
