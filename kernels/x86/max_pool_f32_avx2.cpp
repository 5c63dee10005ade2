#include "kernels/generic/pool.h"
#include "kernels/x86/vec_avx2.h"

extern "C" void max_pool_f32_avx2(const PoolF32Args& args) { MaxPool(args); }
