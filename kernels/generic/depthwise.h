// Depthwise convolution over vectors of channels, in tiles of two vectors.
//
// 3x3 windows that share columns, the common case, keep all weights in registers and run along the
// row: a column that is loaded serves every window that it is in. Other windows take four pixels at
// a time, so that a weight that is loaded serves four and in-order cores find eight independent
// sums.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kTileChannels = 2 * kLanes;

template <int kPixels, int kVectors>
inline void DepthwiseTile(const DepthwiseF32Args& args, size_t pixel, size_t channel,
                          const float* w) {
  F sum[kPixels][kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const F bias = args.bias != nullptr ? Load(args.bias + channel + v * kLanes) : Set(0.0f);
    TRIMTAB_UNROLL
    for (int p = 0; p < kPixels; ++p) sum[p][v] = bias;
  }
  const float* const* a = args.a + pixel * args.a_step;
  for (size_t t = 0; t < args.taps; ++t, ++a, w += kTileChannels) {
    F weight[kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) weight[v] = Load(w + v * kLanes);
    TRIMTAB_UNROLL
    for (int p = 0; p < kPixels; ++p) {
      const float* x = a[p * args.a_step] + channel;
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v)
        sum[p][v] = Fma(Load(x + v * kLanes), weight[v], sum[p][v]);
    }
  }
  const F low = Set(args.clamp_min), high = Set(args.clamp_max);
  TRIMTAB_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    float* y = args.y + (pixel + p) * args.y_stride + channel;
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) Store(y + v * kLanes, Min(Max(sum[p][v], low), high));
  }
}

// Fewer channels than a vector has.
inline void DepthwisePart(const DepthwiseF32Args& args, size_t pixel, size_t channel,
                          const float* w) {
  const size_t count = args.channels - channel;
  F sum = args.bias != nullptr ? Load(args.bias + channel) : Set(0.0f);
  const float* const* a = args.a + pixel * args.a_step;
  for (size_t t = 0; t < args.taps; ++t)
    sum = Fma(LoadPart(a[t] + channel, count), Load(w + t * kTileChannels), sum);
  sum = Min(Max(sum, Set(args.clamp_min)), Set(args.clamp_max));
  StorePart(args.y + pixel * args.y_stride + channel, sum, count);
}

// Nine taps of which neighbouring pixels share columns of three, kStride columns apart; kVectors of
// channels.
template <int kStride, int kVectors>
struct Rolling3x3 {
  F weight[9][kVectors];
  F low, high;
  const float* bias;
  const float* const* a;
  size_t channel;
  float* y;
  size_t y_stride, left;

  void Start(F (&sum)[kVectors]) const {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[v] = Load(bias + v * kLanes);
  }

  // Adds the next column to the window it is the third, second and first column of.
  void Column(F (*third)[kVectors], F (*second)[kVectors], F (*first)[kVectors]) {
    TRIMTAB_UNROLL
    for (int row = 0; row < 3; ++row) {
      const float* p = a[row] + channel;
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const F x = Load(p + v * kLanes);
        if (third != nullptr) (*third)[v] = Fma(x, weight[6 + row][v], (*third)[v]);
        if (second != nullptr) (*second)[v] = Fma(x, weight[3 + row][v], (*second)[v]);
        if (first != nullptr) (*first)[v] = Fma(x, weight[row][v], (*first)[v]);
        // Else the compiler keeps columns and multiplies later, with weights that it spills.
        if (second != nullptr) Settle((*second)[v]);
        if (first != nullptr) Settle((*first)[v]);
      }
    }
    a += 3;
  }

  // Ends the window of `done`; false when it was the last.
  bool Pixel(F (&done)[kVectors], F (&next)[kVectors], F (&opened)[kVectors]) {
    if (kStride == 1) {
      Start(opened);
      Column(&done, &next, &opened);
    } else {
      Column(nullptr, &done, nullptr);
      Start(next);
      Column(&done, nullptr, &next);
    }
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) Store(y + v * kLanes, Min(Max(done[v], low), high));
    y += y_stride;
    return --left > 0;
  }

  void Run() {
    F s[3][kVectors];
    Start(s[0]);
    Column(nullptr, nullptr, &s[0]);
    if (kStride == 1) {
      Start(s[1]);
      Column(nullptr, &s[0], &s[1]);
      while (Pixel(s[0], s[1], s[2]) && Pixel(s[1], s[2], s[0]) && Pixel(s[2], s[0], s[1])) {
      }
    } else {
      while (Pixel(s[0], s[1], s[2]) && Pixel(s[1], s[0], s[2])) {
      }
    }
  }
};

// All pixels of kVectors of channels.
template <int kStride, int kVectors>
void Roll(const DepthwiseF32Args& args, size_t channel) {
  Rolling3x3<kStride, kVectors> run;
  const float* w = args.w + channel / kTileChannels * kTileChannels * 9 + channel % kTileChannels;
  TRIMTAB_UNROLL
  for (int t = 0; t < 9; ++t) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) run.weight[t][v] = Load(w + t * kTileChannels + v * kLanes);
  }
  run.low = Set(args.clamp_min);
  run.high = Set(args.clamp_max);
  const float zeros[kVectors * kLanes] = {};
  run.bias = args.bias != nullptr ? args.bias + channel : zeros;
  run.a = args.a;
  run.channel = channel;
  run.y = args.y + channel;
  run.y_stride = args.y_stride;
  run.left = args.pixels;
  run.Run();
}

template <int kStride, int kVectors>
inline size_t RollAll(const DepthwiseF32Args& args) {
  size_t c = 0;
  for (; c + kVectors * kLanes <= args.channels; c += kVectors * kLanes)
    Roll<kStride, kVectors>(args, c);
  return c;
}

// kVectors: how many vectors of channels keep nine weights in registers.
template <int kVectors>
inline void Depthwise(const DepthwiseF32Args& given) {
  const DepthwiseF32Args args = given;  // a copy that stores to y cannot change
  size_t pixel = 0;
  size_t done = 0;  // channels
  if (args.taps == 9 && args.pixels > 0) {
    if (args.a_step == 3) done = RollAll<1, kVectors>(args);
    if (args.a_step == 6) done = RollAll<2, kVectors>(args);
  }
  const size_t full = args.channels / kTileChannels * kTileChannels;
  if (done < full) {
    for (; pixel + 4 <= args.pixels; pixel += 4) {
      for (size_t c = done; c < full; c += kTileChannels)
        DepthwiseTile<4, 2>(args, pixel, c, args.w + c * args.taps);
    }
    for (; pixel < args.pixels; ++pixel) {
      for (size_t c = done; c < full; c += kTileChannels)
        DepthwiseTile<1, 2>(args, pixel, c, args.w + c * args.taps);
    }
  }
  // Every pixel of the last, narrower tile.
  const float* w = args.w + full * args.taps;
  const size_t begin = done > full ? done : full;
  for (size_t p = 0; p < args.pixels && begin < args.channels; ++p) {
    size_t c = begin;
    if (c + kLanes <= args.channels) {
      DepthwiseTile<1, 1>(args, p, c, w + (c - full));
      c += kLanes;
    }
    if (c < args.channels) DepthwisePart(args, p, c, w + (c - full));
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_
