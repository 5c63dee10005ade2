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

// Summing in blocks of rows bounds the rounding error by (kBlock + n / kBlock) eps.
TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void SoftmaxColumns(const SoftmaxColumnsArgs<Element>& args) {
  constexpr size_t kBlock = 32;
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
