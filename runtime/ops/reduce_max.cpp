#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMax, Reduction::kMax)
