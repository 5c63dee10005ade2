#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/pool.h"

extern "C" void average_pool_f32_portable(const PoolF32Args& args) { AveragePool(args); }
