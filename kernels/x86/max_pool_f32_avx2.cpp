#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/pool.h"

extern "C" void max_pool_f32_avx2(const PoolF32Args& args) { MaxPool(args); }
