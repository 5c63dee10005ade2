#include "kernels/arm/vec_neon.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void prelu_f32_neon(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return LeakyRelu(a, b); });
}
