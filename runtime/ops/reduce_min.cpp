#include "generated/attributes/reduce_min.h"

#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMin, Reduction::kMin)
