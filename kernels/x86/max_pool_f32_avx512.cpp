#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/pool.h"

extern "C" void max_pool_f32_avx512(const PoolF32Args& args) { MaxPool(args); }
