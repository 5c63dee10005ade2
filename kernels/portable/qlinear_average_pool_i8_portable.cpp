#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

extern "C" void qlinear_average_pool_i8_portable(const QlinearPoolArgs<int8_t>& args) {
  const PoolArgs<int8_t>& pool = args.pool;
  const size_t taps = pool.kernel_h * pool.kernel_w;
  const int8_t* const* a = pool.a;
  int8_t* y = pool.y;
  for (size_t p = 0; p < pool.pixels; ++p) {
    for (size_t c = 0; c < pool.channels; ++c) {
      int32_t sum = args.bias;
      for (size_t t = 0; t < taps; ++t) sum += a[t][c];
      y[c] = Rounded(args, static_cast<float>(sum) * pool.scale[p]);
    }
    a += pool.step_w * pool.kernel_h;
    y += pool.y_stride;
  }
}
