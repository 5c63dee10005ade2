#include "kernels/generic/requantise.h"
#include "kernels/kernel_api.h"

extern "C" void depthwise_i8_portable(const DepthwiseArgs<int8_t>& args) {
  const size_t nr = args.nr, taps = args.kernel_h * args.kernel_w;
  const size_t last = args.channels < nr ? 0 : args.channels - nr;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; ++p) {
      const int8_t* const* const a = args.a + p * args.step_w * args.column + r * args.step_h;
      int8_t* const y = args.y + r * args.y_row_stride + p * args.y_stride;
      const int8_t* tile = args.w;
      for (size_t begin = 0; begin < args.channels; begin += nr, tile += taps * nr) {
        const size_t first = begin < last ? begin : last;
        for (size_t lane = 0; lane < nr && first + lane < args.channels; ++lane) {
          const size_t c = first + lane;
          const int8_t* w = tile + lane;
          int32_t sum = args.bias[c];
          for (size_t i = 0; i < args.kernel_h; ++i) {
            for (size_t j = 0; j < args.kernel_w; ++j, w += nr)
              sum += a[j * args.column + i][c] * *w;
          }
          y[c] = Requantise(args, sum, args.scale[c]);
        }
      }
    }
  }
}
