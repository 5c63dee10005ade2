#include "generated/attributes/min.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Min, "min")
