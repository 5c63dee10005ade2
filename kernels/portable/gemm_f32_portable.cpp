#include "kernels/kernel_api.h"

// Any tile: the panel's sums live on the stack, a row of nr at a time.
extern "C" void gemm_f32_portable(const GemmF32Args& args) {
  const size_t mr = args.mr, nr = args.nr;
  float sums[kMaxTileRows * kMaxTileColumns];
  const float* w = args.w;
  for (size_t column = 0; column < args.columns; column += nr) {
    for (size_t i = 0; i < args.rows; ++i) {
      for (size_t j = 0; j < nr; ++j)
        sums[i * nr + j] = args.bias != nullptr ? args.bias[column + j] : 0.0f;
    }
    for (size_t t = 0; t < args.taps; ++t) {
      for (size_t p = 0; p < args.k; ++p, w += nr) {
        for (size_t i = 0; i < args.rows; ++i) {
          const float a = args.a[t * mr + i][p];
          for (size_t j = 0; j < nr; ++j) sums[i * nr + j] += a * w[j];
        }
      }
    }
    for (size_t i = 0; i < args.rows; ++i) {
      for (size_t j = 0; j < nr && column + j < args.columns; ++j) {
        float v = sums[i * nr + j];
        if (args.residual != nullptr) v += args.residual[i * args.residual_stride + column + j];
        v = args.clamp_min > v ? args.clamp_min : v;
        v = args.clamp_max < v ? args.clamp_max : v;
        args.c[i * args.c_stride + column + j] = v;
      }
    }
  }
}
