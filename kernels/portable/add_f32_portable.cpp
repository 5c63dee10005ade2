#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/elementwise.h"

extern "C" void add_f32_portable(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return a + b; });
}
