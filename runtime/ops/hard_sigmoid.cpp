#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR(HardSigmoid, "hard_sigmoid")
