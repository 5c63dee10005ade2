#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR(Swish, "swish")
