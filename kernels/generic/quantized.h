// Sums, products and means of int8 values: a vector of int8 values has four quarters, each of which
// widens to a vector of 32-bit values.
#ifndef TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_
#define TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kI32Lanes = kLanes / kQuarters;  // per quarter
static_assert(kMeanUnit % kLanes == 0, "a vector's sums are more than they have room for");

// y[i] = f(a[i], b[i]).
template <typename Args, typename Function>
inline void MapBinary(const Args& args, const Function& f) {
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes)
    Store(args.y + i, f(Load(args.a + i), Load(args.b + i)));
  const size_t left = args.n - i;
  if (left > 0)
    StorePartial(args.y + i, f(LoadPartial(args.a + i, left), LoadPartial(args.b + i, left)), left);
}

template <int kQuarter>
inline F32Vector QuarterSum(const QlinearAddArgs<Element>& args, F a, F b) {
  const F32Vector first =
      Fma(ToF32(WidenQuarter<kQuarter>(b)), SetF32(args.b_scale), SetF32(args.offset));
  return Fma(ToF32(WidenQuarter<kQuarter>(a)), SetF32(args.a_scale), first);
}

TRIMTAB_FAMILY(i8)
inline void QlinearAdd(const QlinearAddArgs<Element>& original) {
  const QlinearAddArgs<Element> args = original;  // stores to y might alias it
  const Quantizer quantize(0, args.low, args.high);
  MapBinary(args, [&](F a, F b) {
    return quantize({QuarterSum<0>(args, a, b), QuarterSum<1>(args, a, b),
                     QuarterSum<2>(args, a, b), QuarterSum<3>(args, a, b)});
  });
}

// Differences have 9 bits, their products 17: float32 represents them exactly.
template <int kQuarter>
inline F32Vector QuarterProduct(const QlinearMulArgs<Element>& args, F a, F b) {
  const F32Vector first = ToF32(WidenQuarter<kQuarter>(a) + SetI32(-args.a_zero_point));
  const F32Vector second = ToF32(WidenQuarter<kQuarter>(b) + SetI32(-args.b_zero_point));
  return first * second * SetF32(args.scale);
}

TRIMTAB_FAMILY(i8)
inline void QlinearMul(const QlinearMulArgs<Element>& original) {
  const QlinearMulArgs<Element> args = original;  // stores to y might alias it
  const Quantizer quantize(args);
  MapBinary(args, [&](F a, F b) {
    return quantize({QuarterProduct<0>(args, a, b), QuarterProduct<1>(args, a, b),
                     QuarterProduct<2>(args, a, b), QuarterProduct<3>(args, a, b)});
  });
}

// Adds `count` channels of pixels that begin at `pixel(i)`.
template <typename Pixel>
inline void AddPixels(size_t pixels, const Pixel& pixel, size_t count,
                      I32Vector (&sums)[kQuarters]) {
  for (size_t i = 0; i < pixels; ++i) {
    const F x = count == kLanes ? Load(pixel(i)) : LoadPartial(pixel(i), count);
    sums[0] = sums[0] + WidenQuarter<0>(x);
    sums[1] = sums[1] + WidenQuarter<1>(x);
    sums[2] = sums[2] + WidenQuarter<2>(x);
    sums[3] = sums[3] + WidenQuarter<3>(x);
  }
}

inline F Mean(const I32Vector (&sums)[kQuarters], F32Vector scale, const Quantizer& quantize) {
  return quantize({ToF32(sums[0]) * scale, ToF32(sums[1]) * scale, ToF32(sums[2]) * scale,
                   ToF32(sums[3]) * scale});
}

inline size_t LimitToLanes(size_t count) { return count < kLanes ? count : kLanes; }

TRIMTAB_FAMILY(i8)
inline void QlinearMean(const QlinearMeanArgs<Element>& args) {
  const Quantizer quantize(args);
  const F32Vector scale = SetF32(args.scale);
  for (size_t c = 0; c < args.channels; c += kLanes) {
    const size_t count = LimitToLanes(args.channels - c);
    const auto pixel = [&](size_t i) { return args.x + c + i * args.x_stride; };
    I32Vector sums[kQuarters];
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) sums[q] = LoadI32(args.start + c + q * kI32Lanes);
    AddPixels(args.pixels, pixel, count, sums);
    if (args.sums == nullptr) {
      StorePartial(args.y + c, Mean(sums, scale, quantize), count);
      continue;
    }
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) StoreI32(args.sums + c + q * kI32Lanes, sums[q]);
  }
}

TRIMTAB_FAMILY(i8)
inline void QlinearAveragePool(const QlinearPoolArgs<Element>& args) {
  const PoolArgs<Element>& pool = args.pool;
  const Quantizer quantize(args);
  const size_t taps = pool.kernel_h * pool.kernel_w;
  for (size_t p = 0; p < pool.pixels; ++p) {
    const Element* const* const a = pool.a + p * pool.step_w * pool.kernel_h;
    Element* const y = pool.y + p * pool.y_stride;
    const F32Vector scale = SetF32(pool.scale[p]);
    for (size_t c = 0; c < pool.channels; c += kLanes) {
      const size_t count = LimitToLanes(pool.channels - c);
      const auto tap = [&](size_t i) { return a[i] + c; };
      I32Vector sums[kQuarters];
      TRIMTAB_UNROLL
      for (int q = 0; q < kQuarters; ++q) sums[q] = SetI32(args.bias);
      AddPixels(taps, tap, count, sums);
      StorePartial(y + c, Mean(sums, scale, quantize), count);
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_
