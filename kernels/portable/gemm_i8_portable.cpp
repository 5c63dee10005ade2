#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

// Any tile, one result at a time.
extern "C" void gemm_i8_portable(const GemmArgs<int8_t>& args) {
  const size_t nr = args.nr, mr = args.mr, kr = args.kr, depth = args.taps * args.k;
  for (size_t column = 0; column < args.columns; ++column) {
    const size_t in_panel = column % nr;
    const int8_t* const panel = args.w + (column - in_panel) * depth + in_panel * kr;
    for (size_t i = 0; i < args.rows; ++i) {
      int32_t sum = args.bias[column];
      const int8_t* w = panel;
      for (size_t t = 0; t < args.taps; ++t) {
        const int8_t* const a = args.a[(i / mr * args.taps + t) * mr + i % mr];
        for (size_t p = 0; p < args.k; p += kr, w += nr * kr) {
          for (size_t q = 0; q < kr; ++q) sum += a[p + q] * w[q];
        }
      }
      const size_t at = i * args.c_stride + column;
      if (args.dequantized != nullptr) {
        args.dequantized[at] = static_cast<float>(sum) * args.scale[column];
      } else {
        args.c[at] = Requantize(args, sum, column);
      }
    }
  }
}
