#include "generated/attributes/reduce_sum.h"

#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceSum, Reduction::kSum)
