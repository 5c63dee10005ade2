#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void hard_sigmoid_f32_portable(const UnaryF32Args& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return HardSigmoid(x, alpha, beta); });
}
