#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane_armv8_macros.h"

// A third of the code: every tile is computed as a whole one, every depth in steps of four.
#define TRIMTAB_NARROW_VECTORS 0
#define TRIMTAB_LOG2_UNROLL 2
#define TRIMTAB_POINTER_REGISTERS
#define TRIMTAB_INNER_LOOP \
  "3:\n"                   \
  "subs %[n], %[n], #1\n" TRIMTAB_DEPTH_4 "b.ne 3b\n"

#include "kernels/arm/gemm_lane_armv8.h"

extern "C" void gemm_f32_4x16_neonsmall(const GemmArgs<float>& args) { Gemm<LaneTile>(args); }
