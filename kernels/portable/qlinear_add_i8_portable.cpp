#include "kernels/generic/rounding.h"
#include "kernels/kernel_api.h"

extern "C" void qlinear_add_i8_portable(const QlinearAddArgs<int8_t>& args) {
  const auto low = static_cast<float>(args.low), high = static_cast<float>(args.high);
  // Products with an int8 value are exact in double, so each sum is rounded once.
  const double a_scale = args.a_scale, b_scale = args.b_scale;
  for (size_t i = 0; i < args.n; ++i) {
    const auto first = static_cast<float>(args.b[i] * b_scale + args.offset);
    const auto sum = static_cast<float>(args.a[i] * a_scale + first);
    args.y[i] = static_cast<int8_t>(RoundBetween(sum, low, high));
  }
}
