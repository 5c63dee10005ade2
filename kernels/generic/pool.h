// Pooling over vectors of channels: four vectors at a time, then one, then a part.
#ifndef TRIMTAB_KERNELS_GENERIC_POOL_H_
#define TRIMTAB_KERNELS_GENERIC_POOL_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// kVectors of channels from c on, of pixel p.
template <int kVectors, typename Combine, typename Finish>
inline void PoolTile(const PoolF32Args& args, size_t p, size_t c, const Combine& combine,
                     const Finish& finish) {
  const float* const* const a = args.a + p * args.a_step;
  F sum[kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = Load(a[0] + c + v * kLanes);
  TRIMTAB_NO_UNROLL
  for (size_t t = 1; t < args.taps; ++t) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[v] = combine(sum[v], Load(a[t] + c + v * kLanes));
  }
  float* const y = args.y + p * args.y_stride + c;
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) Store(y + v * kLanes, finish(sum[v], p));
}

// Combine(sum, x) joins a tap; Finish(sum, pixel) ends a pixel. taps >= 1.
template <typename Combine, typename Finish>
inline void Pool(const PoolF32Args& given, const Combine& combine, const Finish& finish) {
  const PoolF32Args args = given;  // a copy that stores to y cannot change
  for (size_t p = 0; p < args.pixels; ++p) {
    size_t c = 0;
    TRIMTAB_NO_UNROLL
    for (; c + 4 * kLanes <= args.channels; c += 4 * kLanes)
      PoolTile<4>(args, p, c, combine, finish);
    if (c + 2 * kLanes <= args.channels) {
      PoolTile<2>(args, p, c, combine, finish);
      c += 2 * kLanes;
    }
    if (c + kLanes <= args.channels) {
      PoolTile<1>(args, p, c, combine, finish);
      c += kLanes;
    }
    if (c < args.channels) {
      const size_t count = args.channels - c;
      const float* const* const a = args.a + p * args.a_step;
      F sum = LoadPart(a[0] + c, count);
      TRIMTAB_NO_UNROLL
      for (size_t t = 1; t < args.taps; ++t) sum = combine(sum, LoadPart(a[t] + c, count));
      StorePart(args.y + p * args.y_stride + c, finish(sum, p), count);
    }
  }
}

inline void MaxPool(const PoolF32Args& args) {
  Pool(args, [](F sum, F x) { return Max(x, sum); }, [](F sum, size_t) { return sum; });
}

inline void AveragePool(const PoolF32Args& args) {
  Pool(
      args, [](F sum, F x) { return sum + x; },
      [&](F sum, size_t p) { return sum * Set(args.scale[p]); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_POOL_H_
