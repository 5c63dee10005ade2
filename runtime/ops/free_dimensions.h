// Sizes that follow the free dimensions of a network (runtime/ops/shared/size_terms.toml).
#ifndef TRIMTAB_OPS_FREE_DIMENSIONS_H_
#define TRIMTAB_OPS_FREE_DIMENSIONS_H_

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {

constexpr uint32_t kMaxFreeSizes = 2 * Dims::kMaxRank;

// The attributes of shared/size_terms.toml: sizes[i] = (free dimension * multiply + add) / divide.
struct SizeTerms {
  IntList free, multiply, add, divide;

  // Computes `count` sizes, between -1 and INT32_MAX; `dims`: those of the result of free_sizes.
  Status Compute(const Dims& dims, uint32_t count, int32_t* sizes) const;
};

template <typename Attributes>
SizeTerms SizeTermsOf(const Attributes& a) {
  return {a.free, a.multiply, a.add, a.divide};
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_FREE_DIMENSIONS_H_
