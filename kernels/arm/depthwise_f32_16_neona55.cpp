#include "kernels/arm/vec_neon.h"

// Scheduled for Cortex-A55 by LLVM's model (gemm_f32_4x16_neona55.cpp): an LDR with a register
// offset is free beside a multiply-add, because both write back after four cycles. An LDR with an
// immediate offset writes back after three, so it waits a cycle; an LD1 of four registers takes
// eight. So x15, x16, x17 and x19 hold the offsets in bytes of a tile's four vectors; the weights'
// pointer is reset by the same amount.
// clang-format off
#define TRIMTAB_LOAD(...) TRIMTAB_LOAD_(__VA_ARGS__)
#define TRIMTAB_LOAD_(v0, v1, v2, v3, pointer, step)                          \
  "ldr q" #v0 ", [" pointer ", x15]\n", "ldr q" #v1 ", [" pointer ", x16]\n", \
  "ldr q" #v2 ", [" pointer ", x17]\n", "ldr q" #v3 ", [" pointer ", x19]\n" step
#define TRIMTAB_INPUT(...) TRIMTAB_LOAD(__VA_ARGS__, "")
#define TRIMTAB_WEIGHT(...) TRIMTAB_WEIGHT_(__VA_ARGS__)
#define TRIMTAB_WEIGHT_(v0, v1, v2, v3, column) TRIMTAB_WEIGHT_STEP(v0, v1, v2, v3)
#define TRIMTAB_WEIGHT_STEP(...) TRIMTAB_LOAD(__VA_ARGS__, "%[w]", TRIMTAB_ADD("%[w]", "#64"))
#define TRIMTAB_NEXT_WEIGHTS TRIMTAB_NO_LOADS
#define TRIMTAB_REGISTERS "x16", "x17", "x19",
#define TRIMTAB_BEGIN_BLOCK \
  "mov x15, #0\n"           \
  "mov x16, #16\n"          \
  "mov x17, #32\n"          \
  "mov x19, #48\n"
#define TRIMTAB_BEGIN_ROW
#define TRIMTAB_ADVANCE_OFFSETS(bytes)                                          \
  TRIMTAB_ADD("x15", bytes) TRIMTAB_ADD("x16", bytes) TRIMTAB_ADD("x17", bytes) \
  TRIMTAB_ADD("x19", bytes)
#define TRIMTAB_END_TILE_3X3 TRIMTAB_ADVANCE_OFFSETS("#64") "sub %[w], %[w], #64\n"
#define TRIMTAB_END_TILE_5WIDE TRIMTAB_END_TILE_3X3
#define TRIMTAB_REWIND_3X3 TRIMTAB_ADVANCE_OFFSETS("%[tail]") "sub %[w], %[w], %[tail]\n"
#define TRIMTAB_REWIND_5WIDE TRIMTAB_REWIND_3X3
// clang-format on

#include "kernels/arm/depthwise_row.h"

extern "C" void depthwise_f32_16_neona55(const DepthwiseArgs<float>& args) {
  DepthwiseByRows(args);
}
