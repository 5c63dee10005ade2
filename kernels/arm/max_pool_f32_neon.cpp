#include "kernels/arm/vec_neon.h"

#include "kernels/generic/pool.h"

extern "C" void max_pool_f32_neon(const PoolF32Args& args) { MaxPool(args); }
