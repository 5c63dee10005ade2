#include "runtime/ops/reduce.h"

TRIMTAB_REDUCTION(ReduceMean, Reduction::kMean)
