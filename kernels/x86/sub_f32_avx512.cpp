#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/elementwise.h"

extern "C" void sub_f32_avx512(const BinaryF32Args& args) {
  Map(args, [](F a, F b) { return a - b; });
}
