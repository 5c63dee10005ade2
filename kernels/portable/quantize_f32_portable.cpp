#include "kernels/generic/rounding.h"
#include "kernels/kernel_api.h"

extern "C" void quantize_f32_portable(const QuantizeArgs<float>& args) {
  const auto low = static_cast<float>(args.low - args.zero_point);
  const auto high = static_cast<float>(args.high - args.zero_point);
  for (size_t i = 0; i < args.n; ++i) {
    const int32_t value = RoundBetween(args.x[i] / args.scale, low, high) + args.zero_point;
    args.y[i] = static_cast<uint8_t>(value);
  }
}
