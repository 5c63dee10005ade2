#include "runtime/ops/computed_sizes.h"

namespace trimtab {

Status SetLargest(const IntList& largest, Dims* dims) {
  TRIMTAB_CHECK(largest.size <= Dims::kMaxRank, "too many dimensions", largest.size);
  dims->rank = static_cast<int>(largest.size);
  for (uint32_t i = 0; i < largest.size; ++i) {
    TRIMTAB_CHECK(largest[i] >= 0 && largest[i] <= INT32_MAX, "dimension is out of range",
                  largest[i]);
    (*dims)[static_cast<int>(i)] = static_cast<int32_t>(largest[i]);
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
