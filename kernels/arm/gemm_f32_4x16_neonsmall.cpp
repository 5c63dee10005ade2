#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_row_steps.h"

// A third of the code: every tile is computed as a whole one, every depth in steps of four.
#define TRIMTAB_NARROW_VECTORS 0
#define TRIMTAB_TURN_BITS 2
#define TRIMTAB_POINTERS
#define TRIMTAB_TURNS \
  "3:\n"              \
  "subs %[n], %[n], #1\n" TRIMTAB_FOUR_ELEMENTS "b.ne 3b\n"

#include "kernels/arm/gemm_row.h"

extern "C" void gemm_f32_4x16_neonsmall(const GemmArgs<float>& args) { Gemm<RowTile>(args); }
