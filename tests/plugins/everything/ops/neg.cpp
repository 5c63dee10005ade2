#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR_OF(Neg, float, F32, "bounded_neg")
