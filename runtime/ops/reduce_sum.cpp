#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceSum, Reduction::kSum)
