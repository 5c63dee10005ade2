// Depthwise convolution of int8 values, 16 channels at a time, for all Armv8 and Armv7 cores.
#ifndef TRIMTAB_KERNELS_ARM_DEPTHWISE_I8_H_
#define TRIMTAB_KERNELS_ARM_DEPTHWISE_I8_H_

#include "kernels/arm/requantize.h"
#include "kernels/generic/depthwise_few_channels.h"
#include "kernels/generic/depthwise_window.h"
#include "kernels/generic/unroll.h"

// For a lambda whose arrays of vectors must stay in registers.
#define TRIMTAB_INLINED __attribute__((always_inline))

namespace {

constexpr size_t kMaxLineTaps = FewChannels<16>::kMaxTaps;

// Sums of 16 channels. Two products of int8 values fit 16 bits, because weights are greater than
// -128.
struct Accumulators {
  int32x4_t v[4];

  void Add(int16x8_t low, int16x8_t high) {
    v[0] = vaddw_s16(v[0], vget_low_s16(low));
    v[1] = vaddw_high_s16(v[1], low);
    v[2] = vaddw_s16(v[2], vget_low_s16(high));
    v[3] = vaddw_high_s16(v[3], high);
  }
  void AddTap(int8x16_t x, int8x16_t w) {
    Add(vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_high_s8(x, w));
  }
  void AddTapPair(int8x16_t x0, int8x16_t w0, int8x16_t x1, int8x16_t w1) {
    const int16x8_t low = vmull_s8(vget_low_s8(x0), vget_low_s8(w0));
    const int16x8_t high = vmull_high_s8(x0, w0);
    Add(vmlal_s8(low, vget_low_s8(x1), vget_low_s8(w1)), vmlal_high_s8(high, x1, w1));
  }
  void Initialize(const int32_t* bias) {
    const int32x4x4_t start = LoadFourVectors(bias);
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = start.val[i];
  }
  // `slope` may be null.
  int8x16_t Requantized(const float* scale, const float* slope, const Limits& limits) const {
    const float32x4x4_t s = LoadFourVectors(scale);
    float32x4_t x[4];
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = vmulq_f32(vcvtq_f32_s32(v[i]), s.val[i]);
    if (__builtin_expect(slope != nullptr, 0)) {
      const float32x4x4_t negative = LoadFourVectors(slope);
      TRIMTAB_UNROLL
      for (int i = 0; i < 4; ++i) x[i] = vmaxq_f32(x[i], vmulq_f32(x[i], negative.val[i]));
    }
    return limits.Narrow(RoundToI32(x[0]), RoundToI32(x[1]), RoundToI32(x[2]), RoundToI32(x[3]));
  }
};

// Parameters of 16 channels, from channel `offset` on.
struct ChannelParameters {
  size_t offset;
  const int8_t* w;
  const int32_t* bias;
  const float *scale, *slope;  // slope: null if there is none
  int8_t* y;

  ChannelParameters(const DepthwiseArgs<int8_t>& args, const int8_t* weights, size_t c)
      : offset(c),
        w(weights),
        bias(args.bias + c),
        scale(args.scale + c),
        slope(args.slope == nullptr ? nullptr : args.slope + c),
        y(args.y + c) {}
};

// The three taps of a column.
struct Column {
  int8x16_t x[3];

  void Load(const int8_t* const* a, size_t offset) {
    TRIMTAB_UNROLL
    for (int i = 0; i < 3; ++i) x[i] = vld1q_s8(a[i] + offset);
  }
};

// 3x3 windows over 16 channels: weights stay in registers, and so do the columns that the next
// pixel's window shares.
template <int kStep>
__attribute__((noinline)) void Window3x3(const DepthwiseArgs<int8_t>& args,
                                         const ChannelParameters& original, const Limits& limits) {
  const ChannelParameters channels = original;  // stores to y might alias it
  const size_t offset = channels.offset;
  Column taps[3];
  TRIMTAB_UNROLL
  for (int i = 0; i < 9; ++i) taps[i % 3].x[i / 3] = vld1q_s8(channels.w + 16 * i);
  const size_t column = args.column, y_stride = args.y_stride;
  for (size_t r = 0; r < args.rows; ++r) {
    const int8_t* const* a = args.a + r * args.step_h;  // pointers of the next column
    int8_t* y = channels.y + r * args.y_row_stride;
    const auto load = [&](Column* next) TRIMTAB_INLINED {
      next->Load(a, offset);
      a += column;
    };
    // Computes the next pixel, whose window shares the column `first` and loads the others.
    const auto next = [&](const Column& first, Column* second, Column* third) TRIMTAB_INLINED {
      if (kStep == 2) load(second);
      load(third);
      Accumulators sums;
      sums.Initialize(channels.bias);
      sums.AddTapPair(first.x[0], taps[0].x[0], first.x[1], taps[0].x[1]);
      sums.AddTapPair(first.x[2], taps[0].x[2], second->x[0], taps[1].x[0]);
      sums.AddTapPair(second->x[1], taps[1].x[1], second->x[2], taps[1].x[2]);
      sums.AddTapPair(third->x[0], taps[2].x[0], third->x[1], taps[2].x[1]);
      sums.AddTap(third->x[2], taps[2].x[2]);
      vst1q_s8(y, sums.Requantized(channels.scale, channels.slope, limits));
      y += y_stride;
    };
    Column column0, column1, column2;
    load(&column0);
    if (kStep == 1) load(&column1);
    for (size_t pixels = args.pixels;;) {
      next(column0, &column1, &column2);
      if (--pixels == 0) break;
      kStep == 1 ? next(column1, &column2, &column0) : next(column2, &column0, &column1);
      if (--pixels == 0) break;
      kStep == 1 ? next(column2, &column0, &column1) : next(column1, &column2, &column0);
      if (--pixels == 0) break;
    }
  }
}

// 5x5 windows, two neighbors at a time, which share weights and the taps of common columns.
template <int kStep>
__attribute__((noinline)) void Window5x5(const DepthwiseArgs<int8_t>& args,
                                         const ChannelParameters& original, const Limits& limits) {
  const ChannelParameters channels = original;  // stores to y might alias it
  constexpr int kColumns = 5 + kStep;
  const size_t column = args.column;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; p += 2) {
      if (p + 2 > args.pixels) p = args.pixels - 2;  // recomputes one of them
      const int8_t* const* a = args.a + r * args.step_h + p * kStep * column;
      Accumulators left, right;
      left.Initialize(channels.bias);
      right.Initialize(channels.bias);
      int8x16_t last_x[2],
          last_w;  // the last column of a row is combined with that of the next row
      TRIMTAB_UNROLL
      for (int i = 0; i < 5; ++i) {
        int8x16_t x[kColumns], tap[5];
        TRIMTAB_UNROLL
        for (int j = 0; j < kColumns; ++j) x[j] = vld1q_s8(a[j * column + i] + channels.offset);
        TRIMTAB_UNROLL
        for (int j = 0; j < 5; ++j) tap[j] = vld1q_s8(channels.w + 16 * (5 * i + j));
        TRIMTAB_UNROLL
        for (int j = 0; j < 4; j += 2) {
          left.AddTapPair(x[j], tap[j], x[j + 1], tap[j + 1]);
          right.AddTapPair(x[kStep + j], tap[j], x[kStep + j + 1], tap[j + 1]);
        }
        if (i % 2 == 1) {
          left.AddTapPair(last_x[0], last_w, x[4], tap[4]);
          right.AddTapPair(last_x[1], last_w, x[kStep + 4], tap[4]);
        }
        last_x[0] = x[4];
        last_x[1] = x[kStep + 4];
        last_w = tap[4];
      }
      left.AddTap(last_x[0], last_w);
      right.AddTap(last_x[1], last_w);
      int8_t* y = channels.y + r * args.y_row_stride + p * args.y_stride;
      vst1q_s8(y, left.Requantized(channels.scale, channels.slope, limits));
      vst1q_s8(y + args.y_stride, right.Requantized(channels.scale, channels.slope, limits));
    }
  }
}

inline void AnyWindow(const DepthwiseArgs<int8_t>& args, const ChannelParameters& original,
                      const Limits& limits) {
  const ChannelParameters channels = original;  // stores to y might alias it
  const size_t offset = channels.offset;
  const size_t kernel_h = args.kernel_h, kernel_w = args.kernel_w, column = args.column;
  for (size_t r = 0; r < args.rows; ++r) {
    const int8_t* const* a = args.a + r * args.step_h;
    int8_t* y = channels.y + r * args.y_row_stride;
    for (size_t p = args.pixels; p > 0; --p, a += args.step_w * column, y += args.y_stride) {
      Accumulators sums;
      sums.Initialize(channels.bias);
      const int8_t* tap = channels.w;
      for (size_t i = 0; i < kernel_h; ++i) {
        const int8_t* const* line = a + i;
        size_t j = kernel_w;
        for (; j >= 2; j -= 2, line += 2 * column, tap += 32) {
          sums.AddTapPair(vld1q_s8(line[0] + offset), vld1q_s8(tap),
                          vld1q_s8(line[column] + offset), vld1q_s8(tap + 16));
        }
        if (j == 0) continue;
        sums.AddTap(vld1q_s8(line[0] + offset), vld1q_s8(tap));
        tap += 16;
      }
      vst1q_s8(y, sums.Requantized(channels.scale, channels.slope, limits));
    }
  }
}

// Neighboring pixels with kTaps taps; 0: any number. Defined in DepthwiseFunctions.
template <size_t kTaps>
__attribute__((noinline)) void ContiguousPixels(const DepthwiseArgs<int8_t>& args,
                                                const int8_t* const* lines, size_t channels) {
  const Limits limits(args);
  const size_t taps = kTaps > 0 ? kTaps : args.kernel_h * args.kernel_w;
  for (size_t r = 0; r < args.rows; ++r, lines += args.step_h) {
    const int8_t* tap[kMaxLineTaps];
    for (size_t i = 0, t = 0; t < taps; ++i) {
      for (size_t j = 0; j < args.kernel_w; ++j) tap[t++] = lines[i] + j * channels;
    }
    int8_t* y = args.y + r * args.y_row_stride;
    for (size_t at = 0; at < 16 * args.pixels; at += 16) {
      Accumulators sums;
      sums.Initialize(args.bias);
      TRIMTAB_UNROLL
      for (size_t t = 0; t + 1 < taps; t += 2) {
        sums.AddTapPair(vld1q_s8(tap[t] + at), vld1q_s8(args.w + 16 * t), vld1q_s8(tap[t + 1] + at),
                        vld1q_s8(args.w + 16 * t + 16));
      }
      if (taps % 2 == 1)
        sums.AddTap(vld1q_s8(tap[taps - 1] + at), vld1q_s8(args.w + 16 * (taps - 1)));
      vst1q_s8(y + at, sums.Requantized(args.scale, args.slope, limits));
    }
  }
}

inline void DepthwiseContiguous(const DepthwiseArgs<int8_t>& args, const int8_t* const* lines,
                                size_t channels) {
  const bool is_three = args.kernel_h == 3 && args.kernel_w == 3;
  is_three ? ContiguousPixels<9>(args, lines, channels)
           : ContiguousPixels<0>(args, lines, channels);
}

using WindowFunction = void (*)(const DepthwiseArgs<int8_t>& args,
                                const ChannelParameters& channels, const Limits& limits);

// The function for windows other than 3x3.
inline WindowFunction OtherWindowFunctionFor(const DepthwiseArgs<int8_t>& args) {
  if (args.pixels < 2) return AnyWindow;
  return IsWindow<5, 1>(args) ? Window5x5<1> : IsWindow<5, 2>(args) ? Window5x5<2> : AnyWindow;
}
inline WindowFunction WindowFunctionFor(const DepthwiseArgs<int8_t>& args) {
  return IsWindow<3, 1>(args)   ? Window3x3<1>
         : IsWindow<3, 2>(args) ? Window3x3<2>
                                : OtherWindowFunctionFor(args);
}

// All vectors of channels; the last one overlaps the previous one.
inline void Depthwise(const DepthwiseArgs<int8_t>& args, WindowFunction window) {
  const Limits limits(args);
  const size_t last = args.channels - 16, taps = args.kernel_h * args.kernel_w;
  const int8_t* w = args.w;
  for (size_t begin = 0; args.pixels > 0 && begin < args.channels; begin += 16, w += 16 * taps) {
    const size_t c = begin < last ? begin : last;
    window(args, ChannelParameters(args, w, c), limits);
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_DEPTHWISE_I8_H_
