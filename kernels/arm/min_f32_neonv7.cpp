#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"

extern "C" void min_f32_neonv7(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Min(a, b)); });
}
