#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"

extern "C" void sub_f32_neonv7(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return a - b; });
}
