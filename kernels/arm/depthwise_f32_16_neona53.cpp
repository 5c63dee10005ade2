#include "kernels/arm/vec_neon.h"

// Scheduled for Cortex-A53 by LLVM's model (gemm_f32_4x16_neona53.cpp): after a multiply-add, an
// LD1 of four registers waits 3 cycles, one with post-increment 10. So pointers advance by ADD, all
// of a tile's together, and each column of a 3x3 window has a pointer to its weights: %[w], x16,
// x17. Windows that are five wide have too many columns for that.
// clang-format off
#define TRIMTAB_LOAD(...) TRIMTAB_LOAD_(__VA_ARGS__)
#define TRIMTAB_LOAD_(v0, v1, v2, v3, pointer, step) \
  "ld1 {v" #v0 ".4s, v" #v1 ".4s, v" #v2 ".4s, v" #v3 ".4s}, [" pointer "]" step "\n", "", "", ""
#define TRIMTAB_INPUT(...) TRIMTAB_LOAD(__VA_ARGS__, "")
#define TRIMTAB_WEIGHT(...) TRIMTAB_WEIGHT_(__VA_ARGS__)
#define TRIMTAB_WEIGHT_(v0, v1, v2, v3, column) TRIMTAB_LOAD(v0, v1, v2, v3, TRIMTAB_W##column, "")
#define TRIMTAB_W0 "%[w]"
#define TRIMTAB_W1 "x16"
#define TRIMTAB_W2 "x17"
#define TRIMTAB_NEXT_WEIGHTS \
  TRIMTAB_ADD("%[w]", "#192") TRIMTAB_ADD("x16", "#192") TRIMTAB_ADD("x17", "#192"), "", "", ""
#define TRIMTAB_WEIGHT_STEP(...) TRIMTAB_LOAD(__VA_ARGS__, "%[w]", ", #64")
#define TRIMTAB_REGISTERS "x16", "x17",
#define TRIMTAB_BEGIN_BLOCK \
  "add x16, %[w], #64\n"    \
  "add x17, %[w], #128\n"   \
  "mov x15, #0\n"
#define TRIMTAB_BEGIN_ROW                                                       \
  TRIMTAB_ADD("x7", "x15") TRIMTAB_ADD("x8", "x15") TRIMTAB_ADD("x9", "x15")    \
  TRIMTAB_ADD("x10", "x15") TRIMTAB_ADD("x11", "x15") TRIMTAB_ADD("x12", "x15") \
  TRIMTAB_ADD("x13", "x15")
#define TRIMTAB_END_TILE_3X3 TRIMTAB_EACH_POINTER(TRIMTAB_ADD, "#64")
#define TRIMTAB_REWIND_3X3 TRIMTAB_EACH_POINTER(TRIMTAB_ADD, "%[tail]")
#define TRIMTAB_END_TILE_5WIDE TRIMTAB_ADD("x15", "#64")
#define TRIMTAB_REWIND_5WIDE TRIMTAB_ADD("x15", "%[tail]")
// clang-format on

#include "kernels/arm/depthwise_row.h"

extern "C" void depthwise_f32_16_neona53(const DepthwiseArgs<float>& args) {
  DepthwiseByRows(args);
}
