#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"

extern "C" void max_f32_neonv7(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Max(a, b)); });
}
