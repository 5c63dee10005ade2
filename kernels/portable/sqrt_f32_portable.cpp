#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/unary.h"

extern "C" void sqrt_f32_portable(const UnaryArgs<float>& args) {
  Map(args, [](F x) { return F{__builtin_sqrtf(x.v)}; });
}
