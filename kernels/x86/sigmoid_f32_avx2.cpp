#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/math.h"

extern "C" void sigmoid_f32_avx2(const UnaryF32Args& args) {
  Map(args, [](F x) { return Sigmoid(x); });
}
