#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR(Exp, "exp")
