#include "kernels/portable/vec_f16.h"

#include "kernels/generic/unary.h"

extern "C" void sqrt_f16_portable(const UnaryArgs<Half>& args) {
  Map(args, [](F x) { return F{__builtin_sqrtf(x.v)}; });
}
