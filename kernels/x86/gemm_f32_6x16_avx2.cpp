#include "kernels/x86/vec_avx2.h"

#include "kernels/generic/gemm_broadcast.h"

// 12 of 16 registers hold sums: 12 FMA per 2 + 6 loads.
extern "C" void gemm_f32_6x16_avx2(const GemmArgs<float>& args) {
  Gemm<BroadcastTile<6, 16>>(args);
}
