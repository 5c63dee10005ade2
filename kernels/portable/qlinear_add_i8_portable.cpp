#include "kernels/generic/requantise.h"
#include "kernels/kernel_api.h"

extern "C" void qlinear_add_i8_portable(const QlinearAddArgs<int8_t>& args) {
  const auto low = static_cast<float>(args.low - args.zero_point);
  const auto high = static_cast<float>(args.high - args.zero_point);
  for (size_t i = 0; i < args.n; ++i) {
    const float a = static_cast<float>(args.a[i]) * args.a_scale + args.offset;
    const float sum = static_cast<float>(args.b[i]) * args.b_scale + a;
    args.y[i] = static_cast<int8_t>(RoundBetween(sum, low, high) + args.zero_point);
  }
}
