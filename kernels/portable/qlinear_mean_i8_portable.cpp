#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

extern "C" void qlinear_mean_i8_portable(const QlinearMeanArgs<int8_t>& args) {
  for (size_t c = 0; c < args.channels; ++c) {
    int32_t sum = args.start[c];
    for (size_t i = 0; i < args.pixels; ++i) sum += args.x[i * args.x_stride + c];
    if (args.sums != nullptr) {
      args.sums[c] = sum;
    } else {
      args.y[c] = Rounded(args, static_cast<float>(sum) * args.scale);
    }
  }
}
