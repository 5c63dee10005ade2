#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void mish_f32_avx512(const UnaryF32Args& args) {
  Map(args, [](F x) { return Mish(x); });
}
