#include "kernels/arm/vec_neon.h"

#include "kernels/generic/elementwise.h"

extern "C" void add_f32_neon(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return a + b; });
}
