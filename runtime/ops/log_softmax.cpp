#include "generated/attributes/log_softmax.h"

#include "runtime/ops/softmax_rows.h"

TRIMTAB_SOFTMAX_OPERATOR(LogSoftmax, "log_softmax")
