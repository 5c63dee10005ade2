#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/pool.h"

extern "C" void average_pool_f32_avx512(const PoolF32Args& args) { AveragePool(args); }
