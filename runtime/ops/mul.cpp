#include "generated/attributes/mul.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Mul, "mul")
