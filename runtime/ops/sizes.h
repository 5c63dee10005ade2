// Sizes of results, of one of three sources: attributes; elements of an operand, so that they are
// known in a run only; terms of free dimensions, in which an attribute has four numbers for a size.
#ifndef TRIMTAB_OPS_SIZES_H_
#define TRIMTAB_OPS_SIZES_H_

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {

enum class SizeSource : uint8_t { kAttributes = 1, kTensor = 2, kTerms = 4 };

// The source of the sizes of an operator with these operands. `Attributes::kSizeSources` is the
// bit set of those that occur in a binary, which has no code for others: if there is only one, the
// operands have been checked.
template <typename Attributes>
constexpr SizeSource SizeSourceOf(bool has_tensor, bool has_terms) {
  constexpr unsigned kSources = Attributes::kSizeSources;
  constexpr auto kTensor = static_cast<unsigned>(SizeSource::kTensor);
  constexpr auto kTerms = static_cast<unsigned>(SizeSource::kTerms);
  if (kSources == kTerms || ((kSources & kTerms) != 0 && has_terms)) return SizeSource::kTerms;
  if (kSources == kTensor || ((kSources & kTensor) != 0 && has_tensor)) return SizeSource::kTensor;
  return SizeSource::kAttributes;
}

// Whether sizes of a source occur in a binary: `if constexpr` keeps code for them out of others, also
// from the eyes of an inliner that counts calls.
template <typename Attributes>
constexpr bool HasSizeSource(SizeSource source) {
  return (Attributes::kSizeSources & static_cast<unsigned>(source)) != 0;
}

constexpr uint32_t kTermNumbers = 4;

// Computes `count` sizes, between -1 and INT32_MAX. Each has four of the numbers in `terms`: a free
// dimension (-1: none), a factor, a summand, and a divisor: (dimension * factor + summand) /
// divisor, rounded down. `free`: the dimensions of the result of free_sizes.
Status ComputeTerms(const IntList& terms, const Dims& free, uint32_t count, int32_t* sizes);

// Sets `dims` to the sizes of an attribute: the largest ones, before a run computes them.
inline Status SetAttribute(const IntList& sizes, Dims* dims) {
  TRIMTAB_CHECK(sizes.size <= Dims::kMaxRank, "too many dimensions", sizes.size);
  dims->rank = static_cast<int>(sizes.size);
  for (uint32_t i = 0; i < sizes.size; ++i) {
    TRIMTAB_CHECK(sizes[i] >= 0 && sizes[i] <= INT32_MAX, "dimension is out of range", sizes[i]);
    (*dims)[static_cast<int>(i)] = static_cast<int32_t>(sizes[i]);
  }
  return Status();
}

// Sets `dims`, which is the largest sizes, to those in `sizes`; a result that would be larger gets
// a negative dimension, which the executor reports.
void SetDims(const Dims& sizes, Dims* dims);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_SIZES_H_
