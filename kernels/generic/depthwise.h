// Depthwise convolution over vectors of channels: tiles of two vectors, four pixels at a time so
// that a weight that is loaded serves four and in-order cores find eight independent sums.
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

inline void Depthwise(const DepthwiseF32Args& given) {
  const DepthwiseF32Args args = given;  // a copy that stores to y cannot change
  size_t pixel = 0;
  for (; pixel + 4 <= args.pixels; pixel += 4) {
    const float* w = args.w;
    for (size_t c = 0; c + kTileChannels <= args.channels;
         c += kTileChannels, w += args.taps * kTileChannels) {
      DepthwiseTile<4, 2>(args, pixel, c, w);
    }
  }
  // What is left: the last pixels of full tiles, and every pixel of the last, narrower tile.
  const size_t full = args.channels / kTileChannels * kTileChannels;
  for (size_t p = pixel; p < args.pixels; ++p) {
    for (size_t c = 0; c < full; c += kTileChannels)
      DepthwiseTile<1, 2>(args, p, c, args.w + c * args.taps);
  }
  const float* w = args.w + full * args.taps;
  for (size_t p = 0; p < args.pixels && full < args.channels; ++p) {
    size_t c = full;
    if (c + kLanes <= args.channels) {
      DepthwiseTile<1, 1>(args, p, c, w);
      c += kLanes;
    }
    if (c < args.channels) DepthwisePart(args, p, c, w + (c - full));
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_
