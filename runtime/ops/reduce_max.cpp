#include "generated/attributes/reduce_max.h"

#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMax, Reduction::kMax)
