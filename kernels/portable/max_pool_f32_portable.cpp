#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/pool.h"

extern "C" void max_pool_f32_portable(const PoolF32Args& args) { MaxPool(args); }
