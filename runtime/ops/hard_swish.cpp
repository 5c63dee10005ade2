#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR(HardSwish, "hard_swish")
