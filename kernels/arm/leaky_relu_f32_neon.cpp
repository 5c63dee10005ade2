#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void leaky_relu_f32_neon(const UnaryF32Args& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) { return LeakyRelu(x, alpha); });
}
