#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

extern "C" void qlinear_mul_i8_portable(const QlinearMulArgs<int8_t>& original) {
  const QlinearMulArgs<int8_t> args = original;  // stores to y might alias it
  for (size_t i = 0; i < args.n; ++i) {
    const int32_t product = (args.a[i] - args.a_zero_point) * (args.b[i] - args.b_zero_point);
    args.y[i] = Rounded(args, static_cast<float>(product) * args.scale);
  }
}
