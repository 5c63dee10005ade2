#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/activations.h"
#include "kernels/generic/elementwise.h"

extern "C" void softplus_f32_portable(const UnaryF32Args& args) {
  Map(args, [](F x) { return Softplus(x); });
}
