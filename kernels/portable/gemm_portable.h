// The portable GEMM. Sums are float for every element type.
#ifndef TRIMTAB_KERNELS_PORTABLE_GEMM_PORTABLE_H_
#define TRIMTAB_KERNELS_PORTABLE_GEMM_PORTABLE_H_

#include "kernels/kernel_api.h"

namespace {

// A constant length keeps the sums of a row in registers.
constexpr size_t kBlock = 8;

// Adds the products of row `row` with `count` columns of a panel; w: the first column.
template <typename T>
inline void Accumulate(const GemmArgs<T>& args, size_t row, const T* w, size_t count, float* sums) {
  for (size_t t = 0; t < args.taps; ++t) {
    const T* a = args.a[(row / args.mr * args.taps + t) * args.mr + row % args.mr];
    for (size_t p = 0; p < args.k; ++p, w += args.nr) {
      for (size_t j = 0; j < count; ++j) sums[j] += a[p] * w[j];
    }
  }
}

// Any tile: blocks of columns inside each panel, one row at a time.
template <typename T>
inline void GemmPortable(const GemmArgs<T>& args) {
  const size_t nr = args.nr, depth = args.taps * args.k;
  size_t count = 0;
  for (size_t column = 0; column < args.columns; column += count) {
    const size_t in_panel = column % nr;
    count = nr - in_panel < kBlock ? nr - in_panel : kBlock;
    const T* w = args.w + (column - in_panel) * depth + in_panel;
    for (size_t i = 0; i < args.rows; ++i) {
      float sums[kBlock];
      for (size_t j = 0; j < count; ++j) {
        sums[j] = 0.0f;
        if (args.bias != nullptr) sums[j] = args.bias[column + j];
      }
      if (count == kBlock) {
        Accumulate(args, i, w, kBlock, sums);
      } else {
        Accumulate(args, i, w, count, sums);
      }
      for (size_t j = 0; j < count && column + j < args.columns; ++j) {
        float v = sums[j];
        if (args.residual != nullptr) v += args.residual[i * args.residual_stride + column + j];
        v = args.clamp_min > v ? args.clamp_min : v;
        v = args.clamp_max < v ? args.clamp_max : v;
        args.c[i * args.c_stride + column + j] = v;
      }
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_GEMM_PORTABLE_H_
