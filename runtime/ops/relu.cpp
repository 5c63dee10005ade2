#include "runtime/ops/unary.h"

// Clip to [0, inf): relu has no kernel of its own.
TRIMTAB_UNARY_OPERATOR(Relu, "clip", __builtin_inff())
