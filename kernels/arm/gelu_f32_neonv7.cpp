#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void gelu_f32_neonv7(const UnaryF32Args& args) {
  if (args.alpha == 0.0f) {
    Map(args, [](F x) { return Gelu(x); });
  } else {
    Map(args, [](F x) { return GeluTanh(x); });
  }
}
