// Depthwise convolution, one result at a time.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_SCALAR_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_SCALAR_H_

#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

namespace {

// Any tile. Finish(sum, channel) converts a Sum to a result.
template <typename Sum, typename T, typename Finish>
inline void DepthwiseScalar(const DepthwiseArgs<T>& args, const Finish& finish) {
  const size_t nr = args.nr, taps = args.kernel_h * args.kernel_w;
  const size_t last = args.channels < nr ? 0 : args.channels - nr;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; ++p) {
      const T* const* const a = args.a + p * args.step_w * args.column + r * args.step_h;
      T* const y = args.y + r * args.y_row_stride + p * args.y_stride;
      const T* tile = args.w;
      for (size_t begin = 0; begin < args.channels; begin += nr, tile += taps * nr) {
        const size_t first = begin < last ? begin : last;
        for (size_t lane = 0; lane < nr && first + lane < args.channels; ++lane) {
          const size_t c = first + lane;
          const T* w = tile + lane;
          Sum sum = args.bias[c];
          for (size_t i = 0; i < args.kernel_h; ++i) {
            for (size_t j = 0; j < args.kernel_w; ++j, w += nr)
              sum += a[j * args.column + i][c] * *w;
          }
          y[c] = finish(sum, c);
        }
      }
    }
  }
}

// The same for int8 values.
inline void DepthwiseI8Scalar(const DepthwiseArgs<int8_t>& args) {
  DepthwiseScalar<int32_t>(args, [&](int32_t sum, size_t c) { return Requantize(args, sum, c); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_SCALAR_H_
