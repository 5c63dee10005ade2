#include "generated/attributes/pow.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Pow, "pow")
