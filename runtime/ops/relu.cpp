#include "generated/attributes/relu.h"

#include "runtime/ops/unary.h"

// relu is clip to [0, inf): it has no kernel of its own.
TRIMTAB_UNARY_OPERATOR(Relu, "clip", __builtin_inff())
