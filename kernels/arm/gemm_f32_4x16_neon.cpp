#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_row_steps.h"

// The loop with the fewest instructions, with post-increment loads, for out-of-order cores.
#define TRIMTAB_NARROW_VECTORS 2
#define TRIMTAB_TURN_BITS 4
#define TRIMTAB_POINTERS
#define TRIMTAB_TURNS \
  "3:\n"              \
  "subs %[n], %[n], #1\n" TRIMTAB_EIGHT TRIMTAB_EIGHT "b.ne 3b\n"

#include "kernels/arm/gemm_row.h"

// 16 sums, 8 vectors of a and 4 of w: 28 of 32 registers, and 128 FMA per 4 + 8 loads.
extern "C" void gemm_f32_4x16_neon(const GemmArgs<float>& args) { Gemm<RowTile>(args); }
