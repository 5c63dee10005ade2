#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/math.h"

extern "C" void tanh_f32_avx512(const UnaryF32Args& args) {
  Map(args, [](F x) { return Tanh(x); });
}
