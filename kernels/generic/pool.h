// Pooling over vectors of channels: four vectors at a time, then one, then a part.
#ifndef TRIMTAB_KERNELS_GENERIC_POOL_H_
#define TRIMTAB_KERNELS_GENERIC_POOL_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Combine(sum, x) joins a tap; Finish(sum, pixel) ends a pixel. taps >= 1.
template <typename Combine, typename Finish>
inline void Pool(const PoolF32Args& given, const Combine& combine, const Finish& finish) {
  const PoolF32Args args = given;  // a copy that stores to y cannot change
  constexpr int kVectors = 4;
  for (size_t p = 0; p < args.pixels; ++p) {
    const float* const* a = args.a + p * args.a_step;
    float* y = args.y + p * args.y_stride;
    size_t c = 0;
    for (; c + kVectors * kLanes <= args.channels; c += kVectors * kLanes) {
      F sum[kVectors];
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[v] = Load(a[0] + c + v * kLanes);
      for (size_t t = 1; t < args.taps; ++t) {
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[v] = combine(sum[v], Load(a[t] + c + v * kLanes));
      }
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) Store(y + c + v * kLanes, finish(sum[v], p));
    }
    for (; c < args.channels; c += kLanes) {
      const size_t count = args.channels - c;
      const bool whole = count >= kLanes;
      F sum = whole ? Load(a[0] + c) : LoadPart(a[0] + c, count);
      for (size_t t = 1; t < args.taps; ++t)
        sum = combine(sum, whole ? Load(a[t] + c) : LoadPart(a[t] + c, count));
      sum = finish(sum, p);
      if (whole) {
        Store(y + c, sum);
      } else {
        StorePart(y + c, sum, count);
      }
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
