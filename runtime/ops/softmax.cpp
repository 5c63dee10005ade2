#include "generated/attributes/softmax.h"

#include "runtime/ops/softmax_rows.h"

TRIMTAB_SOFTMAX_OPERATOR(Softmax, "softmax")
