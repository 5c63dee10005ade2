#include "kernels/portable/vec_f16.h"

#include "kernels/generic/binary.h"

// The C library's powf: its special cases (signs, zeros, infinities) justify its 1.5 KB.
extern "C" void pow_f16_portable(const BinaryArgs<Half>& args) {
  Map(args, [](F a, F b) { return F{__builtin_powf(a.v, b.v)}; });
}
