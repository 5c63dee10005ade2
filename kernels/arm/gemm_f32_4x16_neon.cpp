#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_row.h"

// 16 sums, 8 vectors of a and 4 of w: 28 of 32 registers, and 128 FMA per 4 + 8 loads.
extern "C" void gemm_f32_4x16_neon(const GemmF32Args& args) { Gemm<RowTile>(args); }
