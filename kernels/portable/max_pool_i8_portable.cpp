#include "kernels/kernel_api.h"

extern "C" void max_pool_i8_portable(const PoolArgs<int8_t>& args) {
  const size_t taps = args.kernel_h * args.kernel_w;
  const int8_t* const* a = args.a;
  int8_t* y = args.y;
  for (size_t p = 0; p < args.pixels; ++p, a += args.step_w * args.kernel_h, y += args.y_stride) {
    for (size_t c = 0; c < args.channels; ++c) {
      int8_t maximum = a[0][c];
      for (size_t t = 1; t < taps; ++t) maximum = a[t][c] > maximum ? a[t][c] : maximum;
      y[c] = maximum;
    }
  }
}
