// Softmax of one row, over vectors. Strided elements are gathered through a buffer.
#ifndef TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_
#define TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_

#include "kernels/generic/family.h"
#include "kernels/generic/math.h"
#include "kernels/kernel_api.h"

namespace {

// Elements [i, i + kLanes) of the row; -inf past its end, which affects neither the maximum nor the
// sum of exponentials.
inline F LoadRow(const SoftmaxArgs<Element>& args, const Element* row, size_t i) {
  const size_t count = args.n - i;
  if (args.stride == 1 && count >= kLanes) return Load(row + i);
  float lanes[kLanes];
  for (size_t j = 0; j < kLanes; ++j)
    lanes[j] = j < count ? static_cast<float>(row[(i + j) * args.stride]) : -__builtin_inff();
  return Load(lanes);
}

inline void StoreRow(const SoftmaxArgs<Element>& args, size_t i, F v) {
  const size_t count = args.n - i;
  if (args.stride == 1 && count >= kLanes) return Store(args.y + i, v);
  float lanes[kLanes];
  Store(lanes, v);
  for (size_t j = 0; j < kLanes && j < count; ++j) args.y[(i + j) * args.stride] = lanes[j];
}

inline float RowMaximum(const SoftmaxArgs<Element>& args) {
  F maximum = Set(args.x[0]);
  for (size_t i = 0; i < args.n; i += kLanes) maximum = Max(LoadRow(args, args.x, i), maximum);
  float lanes[kLanes];
  Store(lanes, maximum);
  float result = lanes[0];
  for (size_t j = 1; j < kLanes; ++j) result = lanes[j] < result ? result : lanes[j];
  return result;
}

// Sum over the row of each(i, x[i] - maximum). Summing in blocks bounds the rounding error by
// (kBlock + n / kBlock) eps.
template <typename Each>
inline float SumExp(const SoftmaxArgs<Element>& args, float maximum, const Each& each) {
  constexpr size_t kBlock = 32 * kLanes;
  F sum = Set(0.0f);
  for (size_t block = 0; block < args.n; block += kBlock) {
    F partial = Set(0.0f);
    for (size_t i = block; i < args.n && i < block + kBlock; i += kLanes) {
      F x = LoadRow(args, args.x, i);
      Settle(x);  // else the compiler duplicates the exponential for each kind of load
      const F e = ExpNegative(x - Set(maximum));
      each(i, e);
      partial = partial + e;
    }
    sum = sum + partial;
  }
  float lanes[kLanes];
  Store(lanes, sum);
  float total = 0.0f;
  for (size_t j = 0; j < kLanes; ++j) total += lanes[j];
  return total;
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Softmax(const SoftmaxArgs<Element>& args) {
  if (args.n == 0) return;
  const float sum = SumExp(args, RowMaximum(args), [&](size_t i, F e) { StoreRow(args, i, e); });
  const F scale = Set(1.0f / sum);
  for (size_t i = 0; i < args.n; i += kLanes) StoreRow(args, i, LoadRow(args, args.y, i) * scale);
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void LogSoftmax(const SoftmaxArgs<Element>& args) {
  if (args.n == 0) return;
  const float maximum = RowMaximum(args);
  const F shift = Set(SumExp(args, maximum, [](size_t, F) {}));
  const F log = Log(shift);
  for (size_t i = 0; i < args.n; i += kLanes)
    StoreRow(args, i, LoadRow(args, args.x, i) - Set(maximum) - log);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_
