#include "kernels/generic/elementwise.h"
#include "kernels/portable/vec_scalar.h"

extern "C" void min_f32_portable(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Min(a, b)); });
}
