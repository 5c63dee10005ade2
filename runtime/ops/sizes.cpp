#include "runtime/ops/sizes.h"

namespace trimtab {

Status ComputeTerms(const IntList& terms, const Dims& free, uint32_t count, int32_t* sizes) {
  // Products and sums of these stay within 64 bits.
  constexpr int64_t kMaxTerm = int64_t{1} << 31;
  TRIMTAB_CHECK(terms.size == count * kTermNumbers,
                "the terms of sizes must be four numbers each (sizes, numbers)", count, terms.size);
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t* const term = terms.data + size_t{i} * kTermNumbers;
    const int64_t dimension = term[0], multiply = term[1], add = term[2], divide = term[3];
    TRIMTAB_CHECK(dimension >= -1 && dimension < free.rank - 1, "no such free dimension",
                  dimension);
    TRIMTAB_CHECK(multiply >= -kMaxTerm && multiply <= kMaxTerm && add >= -kMaxTerm &&
                      add <= kMaxTerm && divide > 0 && divide <= kMaxTerm,
                  "the term of a size is out of range (size)", i);
    const int64_t known = dimension < 0 ? 0 : free[static_cast<int>(dimension) + 1];
    const int64_t sum = known * multiply + add;
    const int64_t size = sum / divide - (sum % divide < 0);
    TRIMTAB_CHECK(size >= -1 && size <= INT32_MAX, "a size is out of range (size)", size);
    sizes[i] = static_cast<int32_t>(size);
  }
  return Status();
}

void SetDims(const Dims& sizes, Dims* dims) {
  const int64_t most = dims->Count(), count = sizes.Count();
  *dims = sizes;
  if (count >= 0 && count <= most) return;
  dims->rank = 1;
  (*dims)[0] = -1;
}

}  // namespace trimtab
