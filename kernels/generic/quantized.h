// Sums, products and means of int8 values: a vector of int8 values has four quarters, each of which
// widens to a vector of 32-bit values.
#ifndef TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_
#define TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kNumbers = kLanes / kQuarters;  // per quarter
static_assert(kMeanUnit % kLanes == 0, "a vector's sums are more than they have room for");

// y[i] = f(a[i], b[i]).
template <typename Args, typename Function>
inline void OfTwo(const Args& args, const Function& f) {
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes)
    Store(args.y + i, f(Load(args.a + i), Load(args.b + i)));
  const size_t left = args.n - i;
  if (left > 0)
    StorePart(args.y + i, f(LoadPart(args.a + i, left), LoadPart(args.b + i, left)), left);
}

template <int kQuarter>
inline Reals SumOfQuarters(const QlinearAddArgs<Element>& args, F a, F b) {
  const Reals first =
      Fma(ToReals(Quarter<kQuarter>(b)), SetReal(args.b_scale), SetReal(args.offset));
  return Fma(ToReals(Quarter<kQuarter>(a)), SetReal(args.a_scale), first);
}

TRIMTAB_FAMILY(i8)
inline void QlinearAdd(const QlinearAddArgs<Element>& original) {
  const QlinearAddArgs<Element> args = original;  // stores to y might alias it
  const Rounding rounded(0, args.low, args.high);
  OfTwo(args, [&](F a, F b) {
    return rounded({SumOfQuarters<0>(args, a, b), SumOfQuarters<1>(args, a, b),
                    SumOfQuarters<2>(args, a, b), SumOfQuarters<3>(args, a, b)});
  });
}

// Differences have 9 bits, their products 17: float32 represents them exactly.
template <int kQuarter>
inline Reals ProductOfQuarters(const QlinearMulArgs<Element>& args, F a, F b) {
  const Reals first = ToReals(Quarter<kQuarter>(a) + SetNumber(-args.a_zero_point));
  const Reals second = ToReals(Quarter<kQuarter>(b) + SetNumber(-args.b_zero_point));
  return first * second * SetReal(args.scale);
}

TRIMTAB_FAMILY(i8)
inline void QlinearMul(const QlinearMulArgs<Element>& original) {
  const QlinearMulArgs<Element> args = original;  // stores to y might alias it
  const Rounding rounded(args);
  OfTwo(args, [&](F a, F b) {
    return rounded({ProductOfQuarters<0>(args, a, b), ProductOfQuarters<1>(args, a, b),
                    ProductOfQuarters<2>(args, a, b), ProductOfQuarters<3>(args, a, b)});
  });
}

// Adds `count` channels of pixels that begin at `pixel(i)`.
template <typename Pixel>
inline void AddPixels(size_t pixels, const Pixel& pixel, size_t count, Numbers (&sums)[kQuarters]) {
  for (size_t i = 0; i < pixels; ++i) {
    const F x = count == kLanes ? Load(pixel(i)) : LoadPart(pixel(i), count);
    sums[0] = sums[0] + Quarter<0>(x);
    sums[1] = sums[1] + Quarter<1>(x);
    sums[2] = sums[2] + Quarter<2>(x);
    sums[3] = sums[3] + Quarter<3>(x);
  }
}

inline F Mean(const Numbers (&sums)[kQuarters], Reals scale, const Rounding& rounded) {
  return rounded({ToReals(sums[0]) * scale, ToReals(sums[1]) * scale, ToReals(sums[2]) * scale,
                  ToReals(sums[3]) * scale});
}

inline size_t AtMostLanes(size_t count) { return count < kLanes ? count : kLanes; }

TRIMTAB_FAMILY(i8)
inline void QlinearMean(const QlinearMeanArgs<Element>& args) {
  const Rounding rounded(args);
  const Reals scale = SetReal(args.scale);
  for (size_t c = 0; c < args.channels; c += kLanes) {
    const size_t count = AtMostLanes(args.channels - c);
    const auto pixel = [&](size_t i) { return args.x + c + i * args.x_stride; };
    Numbers sums[kQuarters];
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) sums[q] = LoadNumbers(args.start + c + q * kNumbers);
    AddPixels(args.pixels, pixel, count, sums);
    if (args.sums == nullptr) {
      StorePart(args.y + c, Mean(sums, scale, rounded), count);
      continue;
    }
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) StoreNumbers(args.sums + c + q * kNumbers, sums[q]);
  }
}

TRIMTAB_FAMILY(i8)
inline void QlinearAveragePool(const QlinearPoolArgs<Element>& args) {
  const PoolArgs<Element>& pool = args.pool;
  const Rounding rounded(args);
  const size_t taps = pool.kernel_h * pool.kernel_w;
  for (size_t p = 0; p < pool.pixels; ++p) {
    const Element* const* const a = pool.a + p * pool.step_w * pool.kernel_h;
    Element* const y = pool.y + p * pool.y_stride;
    const Reals scale = SetReal(pool.scale[p]);
    for (size_t c = 0; c < pool.channels; c += kLanes) {
      const size_t count = AtMostLanes(pool.channels - c);
      const auto tap = [&](size_t i) { return a[i] + c; };
      Numbers sums[kQuarters];
      TRIMTAB_UNROLL
      for (int q = 0; q < kQuarters; ++q) sums[q] = SetNumber(args.bias);
      AddPixels(taps, tap, count, sums);
      StorePart(y + c, Mean(sums, scale, rounded), count);
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_QUANTIZED_H_
