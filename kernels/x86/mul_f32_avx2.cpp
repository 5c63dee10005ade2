#include "kernels/generic/elementwise.h"
#include "kernels/x86/vec_avx2.h"

extern "C" void mul_f32_avx2(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return a * b; });
}
