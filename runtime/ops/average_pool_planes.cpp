#include "runtime/ops/pool_planes.h"

TRIMTAB_OPERATOR_OF(AveragePoolPlanes, DType::kNone, PoolPlanes, true)
