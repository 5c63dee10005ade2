#include "generated/attributes/reduce_mean.h"

#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMean, Reduction::kMean)
