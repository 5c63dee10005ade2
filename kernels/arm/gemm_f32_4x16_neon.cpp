#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane_armv8_macros.h"

// The loop with the fewest instructions, with post-increment loads, for out-of-order cores.
#define TRIMTAB_NARROW_VECTORS 2
#define TRIMTAB_LOG2_UNROLL 4
#define TRIMTAB_POINTER_REGISTERS
#define TRIMTAB_INNER_LOOP \
  "3:\n"                   \
  "subs %[n], %[n], #1\n" TRIMTAB_DEPTH_8 TRIMTAB_DEPTH_8 "b.ne 3b\n"

#include "kernels/arm/gemm_lane_armv8.h"

// 16 sums, 8 vectors of a and 4 of w: 28 of 32 registers, and 128 FMA per 4 + 8 loads.
extern "C" void gemm_f32_4x16_neon(const GemmArgs<float>& args) { Gemm<LaneTile>(args); }
