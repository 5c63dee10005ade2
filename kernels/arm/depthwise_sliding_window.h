// Depthwise convolution with few registers, for Armv7: sixteen for vectors, fourteen for addresses,
// and no loads with an index. A block of pixels, as in kernels/generic/depthwise.h, would spill
// both kinds. So 3x3 windows that share columns move along the row, one vector of channels at a
// time, with all weights in registers: 25 instructions per vector of a pixel instead of 35.
#ifndef TRIMTAB_KERNELS_ARM_DEPTHWISE_SLIDING_WINDOW_H_
#define TRIMTAB_KERNELS_ARM_DEPTHWISE_SLIDING_WINDOW_H_

#include "kernels/generic/depthwise.h"

namespace {

// The nine taps of 3x3 windows; neighboring pixels share columns, kStride columns apart.
template <int kStride>
struct SlidingWindow3x3 {
  F weight[9];
  F low, high;
  const float* bias;
  const float* const* a;
  size_t column, channel;
  float* y;
  size_t y_stride, left;

  // Adds the next column to the windows whose third, second and first column it is.
  void AddColumn(F* third, F* second, F* first) {
    TRIMTAB_UNROLL
    for (int row = 0; row < 3; ++row) {
      const F x = Load(a[row] + channel);
      if (third != nullptr) *third = Fma(x, weight[3 * row + 2], *third);
      if (second != nullptr) *second = Fma(x, weight[3 * row + 1], *second);
      if (first != nullptr) *first = Fma(x, weight[3 * row], *first);
      // Else the compiler keeps columns and multiplies later, with weights that it spills.
      if (second != nullptr) ForceEvaluation(*second);
      if (first != nullptr) ForceEvaluation(*first);
    }
    a += column;
  }

  // Completes the window of `done`; false if it was the last.
  bool CompletePixel(F* done, F* next, F* opened) {
    if (kStride == 1) {
      *opened = Load(bias);
      AddColumn(done, next, opened);
    } else {
      AddColumn(nullptr, done, nullptr);
      *next = Load(bias);
      AddColumn(done, nullptr, next);
    }
    Store(y, Min(Max(*done, low), high));
    y += y_stride;
    return --left > 0;
  }

  void Run() {
    F s[3];
    s[0] = Load(bias);
    AddColumn(nullptr, nullptr, &s[0]);
    if (kStride == 1) {
      s[1] = Load(bias);
      AddColumn(nullptr, &s[0], &s[1]);
      while (CompletePixel(&s[0], &s[1], &s[2]) && CompletePixel(&s[1], &s[2], &s[0]) &&
             CompletePixel(&s[2], &s[0], &s[1])) {
      }
    } else {
      while (CompletePixel(&s[0], &s[1], &s[2]) && CompletePixel(&s[1], &s[0], &s[2])) {
      }
    }
  }
};

// All pixels of all rows, in tiles of kVectors of channels.
template <int kStride, int kVectors>
void SlideAlongRows(const DepthwiseArgs<float>& args) {
  constexpr size_t kTile = kVectors * kLanes;
  SlidingWindow3x3<kStride> run;
  run.low = Set(args.clamp_min);
  run.high = Set(args.clamp_max);
  run.column = args.column;
  run.y_stride = args.y_stride;
  const float* w = args.w;
  for (size_t done = 0; done < args.channels; done += kTile, w += 9 * kTile) {
    for (size_t v = 0; v < kTile; v += kLanes) {
      const size_t c = Minimum(done, args.channels - kTile) + v;
      TRIMTAB_UNROLL
      for (int t = 0; t < 9; ++t) run.weight[t] = Load(w + t * kTile + v);
      run.bias = args.bias + c;
      run.channel = c;
      for (size_t r = 0; r < args.rows; ++r) {
        run.a = args.a + r * kStride;
        run.y = args.y + r * args.y_row_stride + c;
        run.left = args.pixels;
        run.Run();
      }
    }
  }
}

template <int kVectors>
inline void DepthwiseByRows(const DepthwiseArgs<float>& original) {
  const DepthwiseArgs<float> args = original;  // stores to y might alias it
  const bool can_slide =
      args.step_h == args.step_w && args.pixels > 0 && args.channels >= kVectors * kLanes;
  if (can_slide && IsWindow<3, 1>(args)) return SlideAlongRows<1, kVectors>(args);
  if (can_slide && IsWindow<3, 2>(args)) return SlideAlongRows<2, kVectors>(args);
  DepthwiseWindows<kVectors>(args);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_DEPTHWISE_SLIDING_WINDOW_H_
