#include "kernels/arm/vec_neon.h"

#include "kernels/generic/pool.h"

extern "C" void average_pool_f32_neonv7(const PoolF32Args& args) { AveragePool(args); }
