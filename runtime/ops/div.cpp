#include "generated/attributes/div.h"

#include "runtime/ops/binary.h"

TRIMTAB_BINARY_OPERATOR(Div, "div")
