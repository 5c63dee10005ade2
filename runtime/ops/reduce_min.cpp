#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMin, Reduction::kMin)
