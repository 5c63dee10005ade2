// Sums, products and means of quantised numbers: vectors of bytes, a quarter of which stands for a vector of
// numbers of 32 bits.
#ifndef TRIMTAB_KERNELS_GENERIC_QUANTISED_H_
#define TRIMTAB_KERNELS_GENERIC_QUANTISED_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

template <int kQuarter>
inline Reals SumOfQuarters(const QlinearAddArgs<Element>& args, F a, F b) {
  const Reals first =
      Fma(ToReals(Quarter<kQuarter>(b)), SetReal(args.b_scale), SetReal(args.offset));
  return Fma(ToReals(Quarter<kQuarter>(a)), SetReal(args.a_scale), first);
}

TRIMTAB_FAMILY(i8)
inline void QlinearAdd(const QlinearAddArgs<Element>& given) {
  const QlinearAddArgs<Element> args = given;  // a copy that stores to y cannot change
  const Rounding rounded(0, args.low, args.high);
  const auto sum = [&](F a, F b) {
    return rounded({SumOfQuarters<0>(args, a, b), SumOfQuarters<1>(args, a, b),
                    SumOfQuarters<2>(args, a, b), SumOfQuarters<3>(args, a, b)});
  };
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes)
    Store(args.y + i, sum(Load(args.a + i), Load(args.b + i)));
  const size_t left = args.n - i;
  if (left > 0)
    StorePart(args.y + i, sum(LoadPart(args.a + i, left), LoadPart(args.b + i, left)), left);
}

// Differences have 9 bits, their products 17: float32 holds them.
template <int kQuarter>
inline Reals ProductOfQuarters(const QlinearMulArgs<Element>& args, F a, F b) {
  const Reals first = ToReals(Quarter<kQuarter>(a) + SetNumber(-args.a_zero_point));
  const Reals second = ToReals(Quarter<kQuarter>(b) + SetNumber(-args.b_zero_point));
  return first * second * SetReal(args.scale);
}

TRIMTAB_FAMILY(i8)
inline void QlinearMul(const QlinearMulArgs<Element>& given) {
  const QlinearMulArgs<Element> args = given;  // a copy that stores to y cannot change
  const Rounding rounded(args);
  const auto product = [&](F a, F b) {
    return rounded({ProductOfQuarters<0>(args, a, b), ProductOfQuarters<1>(args, a, b),
                    ProductOfQuarters<2>(args, a, b), ProductOfQuarters<3>(args, a, b)});
  };
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes)
    Store(args.y + i, product(Load(args.a + i), Load(args.b + i)));
  const size_t left = args.n - i;
  if (left > 0)
    StorePart(args.y + i, product(LoadPart(args.a + i, left), LoadPart(args.b + i, left)), left);
}

TRIMTAB_FAMILY(i8)
inline void QlinearMean(const QlinearMeanArgs<Element>& args) {
  const Rounding rounded(args);
  const Reals scale = SetReal(args.scale);
  for (size_t c = 0; c < args.channels; c += kLanes) {
    const size_t left = args.channels - c, count = left < kLanes ? left : kLanes;
    Numbers sums[kQuarters];
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) sums[q] = SetNumber(args.bias);
    const Element* x = args.x + c;
    for (size_t i = 0; i < args.pixels; ++i, x += args.x_stride) {
      const F pixel = count == kLanes ? Load(x) : LoadPart(x, count);
      sums[0] = sums[0] + Quarter<0>(pixel);
      sums[1] = sums[1] + Quarter<1>(pixel);
      sums[2] = sums[2] + Quarter<2>(pixel);
      sums[3] = sums[3] + Quarter<3>(pixel);
    }
    StorePart(args.y + c,
              rounded({ToReals(sums[0]) * scale, ToReals(sums[1]) * scale, ToReals(sums[2]) * scale,
                       ToReals(sums[3]) * scale}),
              count);
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_QUANTISED_H_
