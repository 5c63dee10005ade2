#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane.h"

// 16 sums, 8 vectors of a and 2 of w: 26 of 32 registers, and 64 FMA per 8 + 8 loads.
extern "C" void gemm_f32_8x8_neon(const GemmF32Args& args) { Gemm<LaneTile<8, 8>>(args); }
