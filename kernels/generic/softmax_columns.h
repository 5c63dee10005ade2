// Softmax along an axis that is not the last one in memory: a vector has adjacent columns, and each
// lane normalizes its own.
#ifndef TRIMTAB_KERNELS_GENERIC_SOFTMAX_COLUMNS_H_
#define TRIMTAB_KERNELS_GENERIC_SOFTMAX_COLUMNS_H_

#include "kernels/generic/family.h"
#include "kernels/generic/softmax_terms.h"
#include "kernels/kernel_api.h"

namespace {

// Columns [c, c + count) of a row, where count <= kLanes.
inline F LoadColumns(const Element* row, size_t count) {
  return count == kLanes ? Load(row) : LoadPartial(row, count);
}

inline void StoreColumns(Element* row, F v, size_t count) {
  count == kLanes ? Store(row, v) : StorePartial(row, v, count);
}

// Combines the lanes of each column, of which a vector has kLanes / columns, and gives all of them
// the result.
template <typename Combine>
inline F FoldColumns(F v, size_t columns, const Combine& combine) {
  float lanes[kLanes];
  Store(lanes, v);
  for (size_t j = columns; j < kLanes; ++j)
    lanes[j % columns] = combine(lanes[j % columns], lanes[j]);
  for (size_t j = columns; j < kLanes; ++j) lanes[j] = lanes[j % columns];
  return Load(lanes);
}

// Calls each(x, y) for the vectors of `count` adjacent elements. The last ones go through a buffer
// with -inf past their end, which affects neither maxima nor sums of exponentials.
template <typename Each>
inline void ForVectors(const Element* x, Element* y, size_t count, const Each& each) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) each(x + i, y + i);
  if (i == count) return;
  Element buffer[kLanes];
  for (size_t j = 0; j < kLanes; ++j)
    buffer[j] = i + j < count ? x[i + j] : static_cast<Element>(-__builtin_inff());
  each(buffer, buffer);
  for (size_t j = 0; i + j < count; ++j) y[i + j] = buffer[j];
}

// Columns that are all of a row: a vector has several adjacent rows. A block has as many vectors as
// it has rows in SoftmaxColumns.
inline void SoftmaxOfFewColumns(const SoftmaxColumnsArgs<Element>& args) {
  const size_t count = args.n * args.columns;
  constexpr size_t kBlock = 32 * kLanes;
  F maximum = Set(-__builtin_inff());
  ForVectors(args.x, args.y, count,
             [&](const Element* x, Element*) { maximum = Max(Load(x), maximum); });
  const auto larger = [](float a, float b) { return b < a ? a : b; };
  const SoftmaxTerms terms(FoldColumns(maximum, args.columns, larger));
  F sum = Set(0.0f);
  for (size_t block = 0; block < count; block += kBlock) {
    const size_t size = count - block < kBlock ? count - block : kBlock;
    F partial = Set(0.0f);
    ForVectors(args.x + block, args.y + block, size, [&](const Element* x, Element* y) {
      const F e = terms.Of(Load(x));
      Store(y, e);
      partial = partial + e;
    });
    sum = sum + partial;
  }
  const F total = FoldColumns(sum, args.columns, [](float a, float b) { return a + b; });
  const F scale = Divide(Set(1.0f), total);
  ForVectors(args.y, args.y, count,
             [&](const Element* x, Element* y) { Store(y, Load(x) * scale); });
}

// Summing in blocks of rows bounds the rounding error by (kBlock + n / kBlock) eps.
TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void SoftmaxColumns(const SoftmaxColumnsArgs<Element>& args) {
  constexpr size_t kBlock = 32;
  if constexpr (kLanes > 4) {  // of fewer, a softmax of columns has no two rows
    if (args.columns == args.stride && args.columns < kLanes && kLanes % args.columns == 0) {
      SoftmaxOfFewColumns(args);
      return;
    }
  }
  for (size_t c = 0; c < args.columns; c += kLanes) {
    const size_t count = args.columns - c < kLanes ? args.columns - c : kLanes;
    const Element* const x = args.x + c;
    Element* const y = args.y + c;
    F maximum = LoadColumns(x, count);
    for (size_t i = 1; i < args.n; ++i)
      maximum = Max(LoadColumns(x + i * args.stride, count), maximum);
    const SoftmaxTerms terms(maximum);
    F sum = Set(0.0f);
    for (size_t block = 0; block < args.n; block += kBlock) {
      const size_t end = args.n - block < kBlock ? args.n : block + kBlock;
      F partial = Set(0.0f);
      for (size_t i = block; i < end; ++i) {
        F e = LoadColumns(x + i * args.stride, count);
        ForceEvaluation(e);  // else the compiler duplicates the exponential for each kind of load
        e = terms.Of(e);
        StoreColumns(y + i * args.stride, e, count);
        partial = partial + e;
      }
      sum = sum + partial;
    }
    float lanes[kLanes];
    Store(lanes, sum);
    for (size_t j = 0; j < kLanes; ++j) lanes[j] = 1.0f / lanes[j];
    const F scale = Load(lanes);
    for (size_t i = 0; i < args.n; ++i) {
      Element* const row = y + i * args.stride;
      StoreColumns(row, LoadColumns(row, count) * scale, count);
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_SOFTMAX_COLUMNS_H_
