#include "runtime/ops/pool_planes.h"

TRIMTAB_OPERATOR_OF(MaxPoolPlanes, DType::kNone, PoolPlanes, false)
