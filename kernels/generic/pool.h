// Pooling over vectors of channels. Channels are the outer loop, pixels the inner one, so that 3x3
// windows that share columns, the common case, pool each column once: 6 operations per window of
// stride 2 and 4 of stride 1, instead of 8, and as few loads. The last vectors of channels overlap
// the previous ones.
#ifndef TRIMTAB_KERNELS_GENERIC_POOL_H_
#define TRIMTAB_KERNELS_GENERIC_POOL_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/vector_groups.h"
#include "kernels/kernel_api.h"

namespace {

template <int kVectors>
inline void LoadVectors(const Element* p, F (&x)[kVectors]) {
  LoadAndAdvance(p, 0, x);
}
template <int kVectors>
inline void StoreVectors(Element* p, const F (&x)[kVectors]) {
  StoreAndAdvance(p, 0, x);
}

// Combines the `taps` pointers at `a`, for kVectors of channels from c on.
template <int kVectors, typename Combine>
inline void PoolTaps(const Element* const* a, size_t taps, size_t c, const Combine& combine,
                     F (&sum)[kVectors]) {
  LoadVectors(*a + c, sum);
  TRIMTAB_NO_UNROLL
  while (--taps > 0) {
    F x[kVectors];
    LoadVectors(*++a + c, x);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[v] = combine(sum[v], x[v]);
  }
}

// Combines the three taps of a column.
template <int kVectors, typename Combine>
inline void PoolColumn(const Element* const* a, size_t c, const Combine& combine,
                       F (&sum)[kVectors]) {
  F middle[kVectors], last[kVectors];
  LoadVectors(a[0] + c, sum);
  LoadVectors(a[1] + c, middle);
  LoadVectors(a[2] + c, last);
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = combine(combine(sum[v], middle[v]), last[v]);
}

// 3x3 windows of stride kStep. Keeps the columns that the next window shares: with kStep 1 the last
// one, and the last two combined.
template <int kVectors, int kStep, typename Combine, typename Finish>
inline void Pool3x3(const PoolArgs<Element>& args, size_t c, const Combine& combine,
                    const Finish& finish) {
  const Element* const* a = args.a;
  Element* y = args.y + c;
  F shared[kVectors], last[kVectors];
  PoolColumn(a, c, combine, shared);
  if constexpr (kStep == 1) {
    a += 3;
    PoolColumn(a, c, combine, last);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) shared[v] = combine(shared[v], last[v]);
  }
  TRIMTAB_NO_UNROLL
  for (size_t p = 0; p < args.pixels; ++p, y += args.y_stride) {
    F sum[kVectors];
    a += 3;
    PoolColumn(a, c, combine, sum);
    if constexpr (kStep == 1) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const F column = sum[v];
        sum[v] = combine(shared[v], column);
        shared[v] = combine(last[v], column);
        last[v] = column;
      }
    } else {
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[v] = combine(shared[v], sum[v]);
      a += 3;
      PoolColumn(a, c, combine, shared);
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[v] = combine(sum[v], shared[v]);
    }
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[v] = finish(sum[v], p);
    StoreVectors(y, sum);
  }
}

template <int kVectors, typename Combine, typename Finish>
inline void PoolAny(const PoolArgs<Element>& args, size_t c, const Combine& combine,
                    const Finish& finish) {
  const Element* const* a = args.a;
  Element* y = args.y + c;
  for (size_t p = 0; p < args.pixels; ++p, a += args.step_w * args.kernel_h, y += args.y_stride) {
    F sum[kVectors];
    PoolTaps(a, args.kernel_h * args.kernel_w, c, combine, sum);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[v] = finish(sum[v], p);
    StoreVectors(y, sum);
  }
}

// Requires at least kVectors of channels. A single vector, for images with few channels, does not
// justify code of its own for 3x3 windows.
template <int kVectors, typename Combine, typename Finish>
inline void PoolVectors(const PoolArgs<Element>& args, const Combine& combine,
                        const Finish& finish) {
  constexpr size_t kTile = kVectors * kLanes;
  const bool is_3x3 = kVectors > 1 && args.kernel_h == 3 && args.kernel_w == 3;
  for (size_t begin = 0; begin < args.channels; begin += kTile) {
    const size_t c = begin + kTile <= args.channels ? begin : args.channels - kTile;
    if (is_3x3 && args.step_w == 1) {
      Pool3x3<kVectors, 1>(args, c, combine, finish);
    } else if (is_3x3 && args.step_w == 2) {
      Pool3x3<kVectors, 2>(args, c, combine, finish);
    } else {
      PoolAny<kVectors>(args, c, combine, finish);
    }
  }
}

// Combine(sum, x) combines taps; Finish(sum, pixel) completes a pixel. At least one tap.
template <typename Combine, typename Finish>
inline void Pool(const PoolArgs<Element>& original, const Combine& combine, const Finish& finish) {
  const PoolArgs<Element> args = original;  // stores to y might alias it
  if (args.pixels == 0) return;
  if (args.channels >= 4 * kLanes) return PoolVectors<4>(args, combine, finish);
  if (args.channels >= kLanes) return PoolVectors<1>(args, combine, finish);
  for (size_t p = 0; p < args.pixels; ++p) {
    const Element* const* const a = args.a + p * args.step_w * args.kernel_h;
    F sum = LoadPartial(a[0], args.channels);
    TRIMTAB_NO_UNROLL
    for (size_t t = 1; t < args.kernel_h * args.kernel_w; ++t)
      sum = combine(sum, LoadPartial(a[t], args.channels));
    StorePartial(args.y + p * args.y_stride, finish(sum, p), args.channels);
  }
}

TRIMTAB_FAMILY(f32, f16, i8)
inline void MaxPool(const PoolArgs<Element>& args) {
  Pool(args, [](F sum, F x) { return Max(x, sum); }, [](F sum, size_t) { return sum; });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_POOL_H_
