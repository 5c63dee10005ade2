#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void swish_f32_avx2(const UnaryF32Args& args) {
  const F scale = LogisticScale(args.alpha);
  Map(args, [=](F x) { return Swish(x, scale); });
}
