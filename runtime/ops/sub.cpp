#include "generated/attributes/sub.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Sub, "sub")
