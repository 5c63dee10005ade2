#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void prelu_f32_portable(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return LeakyRelu(a, b); });
}
