// Sizes of results that are elements of other tensors (runtime/ops/shared/largest.toml).
#ifndef TRIMTAB_OPS_COMPUTED_SIZES_H_
#define TRIMTAB_OPS_COMPUTED_SIZES_H_

#include "runtime/core/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {

// Sets `dims` to the largest sizes.
Status SetLargest(const IntList& largest, Dims* dims);

// Sets `dims`, which is the largest sizes, to those in `sizes`; a result that would be larger gets
// a negative dimension, which the executor reports.
void SetDims(const Dims& sizes, Dims* dims);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_COMPUTED_SIZES_H_
