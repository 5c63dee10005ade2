#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/elementwise.h"

extern "C" void div_f32_avx2(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return Divide(a, b); });
}
