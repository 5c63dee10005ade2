// Normalization of one row by its own mean and variance, over vectors.
#ifndef TRIMTAB_KERNELS_GENERIC_NORMALIZE_H_
#define TRIMTAB_KERNELS_GENERIC_NORMALIZE_H_

#include "kernels/generic/family.h"
#include "kernels/generic/math.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Fewer elements than a vector has, then `fill`.
inline F LoadPadded(const Element* x, size_t count, float fill) {
  float lanes[kLanes];
  for (size_t j = 0; j < kLanes; ++j) lanes[j] = j < count ? static_cast<float>(x[j]) : fill;
  return Load(lanes);
}

// Sum over the row of term(x[i]), where term(fill) is 0. Sums of blocks bound the rounding error by
// (kBlock / kSums + n / kBlock / kLanes) eps; kSums of them at once hide the latency of additions.
template <typename Term>
inline float SumOfRow(const Element* x, size_t n, float fill, const Term& term) {
  constexpr size_t kSums = 4, kStep = kSums * kLanes, kBlock = 8 * kStep;
  F total = Set(0.0f);
  for (size_t block = 0; block < n; block += kBlock) {
    F sums[kSums];
    TRIMTAB_UNROLL
    for (size_t j = 0; j < kSums; ++j) sums[j] = Set(0.0f);
    size_t i = block;
    const size_t end = n - block < kBlock ? n : block + kBlock;
    for (; i + kStep <= end; i += kStep) {
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kSums; ++j) sums[j] = sums[j] + term(Load(x + i + j * kLanes));
    }
    for (; i + kLanes <= end; i += kLanes) sums[0] = sums[0] + term(Load(x + i));
    if (i < end) sums[1] = sums[1] + term(LoadPadded(x + i, end - i, fill));
    total = total + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  float lanes[kLanes];
  Store(lanes, total);
  TRIMTAB_UNROLL
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    TRIMTAB_UNROLL
    for (size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Normalize(const NormalizeArgs<Element>& args) {
  const auto n = static_cast<float>(args.n);
  const float mean = SumOfRow(args.x, args.n, 0.0f, [](F x) { return x; }) / n;
  const F center = Set(mean);
  const float squares = SumOfRow(args.x, args.n, mean, [&](F x) {
    const F distance = x - center;
    return distance * distance;
  });
  const float factor = 1.0f / __builtin_sqrtf(squares / n + args.epsilon);
  const F factors = Set(factor);
  const bool has_scales = args.step != 0, has_biases = has_scales && args.bias != nullptr;
  const F shared_scale = Set(args.scale[0]);
  const F shared_bias = Set(args.bias == nullptr ? 0.0f : static_cast<float>(args.bias[0]));
  const auto normalize = [&](F x, F scale, F bias) {
    return Fma((x - center) * factors, scale, bias);
  };
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    const F scale = has_scales ? Load(args.scale + i) : shared_scale;
    const F bias = has_biases ? Load(args.bias + i) : shared_bias;
    Store(args.y + i, normalize(Load(args.x + i), scale, bias));
  }
  if (const size_t rest = args.n - i; rest > 0) {
    const F scale = has_scales ? LoadPartial(args.scale + i, rest) : shared_scale;
    const F bias = has_biases ? LoadPartial(args.bias + i, rest) : shared_bias;
    StorePartial(args.y + i, normalize(LoadPartial(args.x + i, rest), scale, bias), rest);
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_NORMALIZE_H_
