#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void gelu_f32_avx512(const UnaryF32Args& args) {
  if (args.alpha == 0.0f) {
    Map(args, [](F x) { return Gelu(x); });
  } else {
    Map(args, [](F x) { return GeluTanh(x); });
  }
}
