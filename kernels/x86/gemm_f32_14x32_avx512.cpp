#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/gemm_broadcast.h"

// 28 of 32 registers hold sums: 28 FMA per 2 + 14 loads.
extern "C" void gemm_f32_14x32_avx512(const GemmF32Args& args) {
  Gemm<BroadcastTile<14, 32>>(args);
}
