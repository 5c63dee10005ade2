// The portable depthwise convolution. Sums are float, whatever the elements are.
#ifndef TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_
#define TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_

#include "kernels/kernel_api.h"

namespace {

template <typename T>
inline void DepthwisePortable(const DepthwiseArgs<T>& args) {
  const size_t nr = args.nr, taps = args.kernel_h * args.kernel_w;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; ++p) {
      const T* const* const a = args.a + p * args.step_w * args.column + r * args.step_h;
      T* const y = args.y + r * args.y_row_stride + p * args.y_stride;
      const T* tile = args.w;
      for (size_t begin = 0; begin < args.channels; begin += nr, tile += taps * nr) {
        const size_t last = args.channels < nr ? 0 : args.channels - nr;
        const size_t first = begin < last ? begin : last;
        for (size_t lane = 0; lane < nr && first + lane < args.channels; ++lane) {
          const size_t c = first + lane;
          const T* w = tile + lane;
          float v = args.bias[c];
          for (size_t i = 0; i < args.kernel_h; ++i) {
            for (size_t j = 0; j < args.kernel_w; ++j, w += nr) v += a[j * args.column + i][c] * *w;
          }
          v = args.clamp_min > v ? args.clamp_min : v;
          y[c] = args.clamp_max < v ? args.clamp_max : v;
        }
      }
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_DEPTHWISE_PORTABLE_H_
