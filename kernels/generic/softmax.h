// Softmax of one row, over vectors.
#ifndef TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_
#define TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_

#include "kernels/generic/family.h"
#include "kernels/generic/softmax_terms.h"
#include "kernels/generic/vector_groups.h"
#include "kernels/kernel_api.h"

namespace {

// Calls each(x, y) for every step of a row, which advances both pointers. The last elements go
// through a buffer with -inf past their end, which affects neither the maximum nor the sum of
// exponentials.
template <typename Each>
inline void ForSteps(const Element* x, Element* y, size_t n, const Each& each) {
  const size_t rest = n % kStep;
  Element buffer[kStep];
  Element* const end = y + (n - rest);
  size_t left = n - rest;
  for (bool last = rest == 0;; last = true) {
    TRIMTAB_NO_UNROLL
    for (; left > 0; left -= kStep) each(x, y);
    if (last) break;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < kStep; ++i)
      buffer[i] = i < rest ? x[i] : static_cast<Element>(-__builtin_inff());
    x = y = buffer;
    left = kStep;
  }
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < rest; ++i) end[i] = buffer[i];
}

// Combines the lanes of a step pairwise: as a chain, the last additions would take longer than a
// short row.
template <typename Combine>
inline float FoldLanes(const F (&step)[kVectorsPerAccess], const Combine& combine) {
  float lanes[kStep];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectorsPerAccess; ++v) Store(lanes + v * kLanes, step[v]);
  for (size_t half = kStep / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
  }
  return lanes[0];
}

inline F RowMaximum(const SoftmaxArgs<Element>& args) {
  F maximum[kVectorsPerAccess];
  for (F& m : maximum) m = Set(args.x[0]);
  ForSteps(args.x, args.y, args.n, [&](const Element*& x, Element*&) {
    F group[kVectorsPerAccess];
    LoadAndAdvance(x, kStep, group);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectorsPerAccess; ++v) maximum[v] = Max(group[v], maximum[v]);
  });
  return Set(FoldLanes(maximum, [](float a, float b) { return b < a ? a : b; }));
}

// Sum over the row of the exponentials; calls each(side, y) with those of a step.
// Summing in blocks bounds the rounding error by (kBlock + n / kBlock) eps.
template <typename Each>
inline float SumExp(const SoftmaxArgs<Element>& args, const SoftmaxTerms& terms, const Each& each) {
  constexpr size_t kBlock = 32 * kStep;
  F sum[kVectorsPerAccess];
  for (F& s : sum) s = Set(0.0f);
  for (size_t block = 0; block < args.n; block += kBlock) {
    const size_t n = args.n - block < kBlock ? args.n - block : kBlock;
    F partial[kVectorsPerAccess];
    for (F& p : partial) p = Set(0.0f);
    ForSteps(args.x + block, args.y + block, n, [&](const Element*& x, Element*& y) {
      F group[kVectorsPerAccess];
      LoadAndAdvance(x, kStep, group);
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) {
        group[v] = terms.Of(group[v]);
        partial[v] = partial[v] + group[v];
      }
      each(group, y);
    });
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectorsPerAccess; ++v) sum[v] = sum[v] + partial[v];
  }
  return FoldLanes(sum, [](float a, float b) { return a + b; });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Softmax(const SoftmaxArgs<Element>& args) {
  if (args.n == 0) return;
  const float sum = SumExp(
      args, SoftmaxTerms(RowMaximum(args)),
      [](const F(&group)[kVectorsPerAccess], Element*& y) { StoreAndAdvance(y, kStep, group); });
  const F scale = Set(1.0f / sum);
  ForSteps(args.y, args.y, args.n, [=](const Element*& x, Element*& y) {
    F group[kVectorsPerAccess];
    LoadAndAdvance(x, kStep, group);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectorsPerAccess; ++v) group[v] = group[v] * scale;
    StoreAndAdvance(y, kStep, group);
  });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void LogSoftmax(const SoftmaxArgs<Element>& args) {
  if (args.n == 0) return;
  const F maximum = RowMaximum(args);
  const F log = Log(
      Set(SumExp(args, SoftmaxTerms(maximum), [](const F(&)[kVectorsPerAccess], Element*&) {})));
  ForSteps(args.x, args.y, args.n, [=](const Element*& x, Element*& y) {
    F group[kVectorsPerAccess];
    LoadAndAdvance(x, kStep, group);
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectorsPerAccess; ++v) group[v] = group[v] - maximum - log;
    StoreAndAdvance(y, kStep, group);
  });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_SOFTMAX_H_
