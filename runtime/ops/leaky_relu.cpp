#include "runtime/ops/unary.h"

TRIMTAB_UNARY_OPERATOR(LeakyRelu, "leaky_relu")
