#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/elementwise.h"

extern "C" void min_f32_portable(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Min(a, b)); });
}
