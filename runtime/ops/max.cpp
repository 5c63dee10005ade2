#include "generated/attributes/max.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Max, "max")
