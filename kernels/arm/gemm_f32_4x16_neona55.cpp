#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane_armv8_macros.h"

// The loop for Cortex-A55, by LLVM's model (AArch64SchedA55.td): two instructions per cycle, one of
// them a multiply-add, with write-back in order. A multiply-add writes back after 4 cycles, so an
// LD1 of one register (5 cycles) is free between two of them, but has no offset; an LDR (3) or ADD
// (3) delays the next multiply-add by a cycle, and an LDR and an ADD together by no more. An LD1 of
// four registers delays it by 6, a post-increment by 4. So half of the vectors are loaded by LDR
// with an offset and half by LD1, whose pointers advance beside the LDR: x16 for w, %[p1] and %[p3]
// for a.
//
// Multiplies lane `lane` of a0 to a3 by the row of w in b0 to b3, with the loads i0 to i4 in
// between.
// clang-format off
#define TRIMTAB_FMLA_WITH_LOADS(b0, b1, b2, b3, a0, a1, a2, a3, i0, i1, i2, i3, i4) \
  TRIMTAB_FMLA(0, b0, a0) TRIMTAB_FMLA(1, b1, a0) i0                                \
  TRIMTAB_FMLA(2, b2, a0) TRIMTAB_FMLA(3, b3, a0) TRIMTAB_FMLA(4, b0, a1) i1        \
  TRIMTAB_FMLA(5, b1, a1) TRIMTAB_FMLA(6, b2, a1) TRIMTAB_FMLA(7, b3, a1) i2        \
  TRIMTAB_FMLA(8, b0, a2) TRIMTAB_FMLA(9, b1, a2) TRIMTAB_FMLA(10, b2, a2) i3       \
  TRIMTAB_FMLA(11, b3, a2) TRIMTAB_FMLA(12, b0, a3) TRIMTAB_FMLA(13, b1, a3) i4     \
  TRIMTAB_FMLA(14, b2, a3) TRIMTAB_FMLA(15, b3, a3)

#define TRIMTAB_LDR(v, pointer, offset) "ldr q" #v ", [" pointer ", #" offset "]\n"
#define TRIMTAB_LD1(v, pointer) "ld1 {v" #v ".4s}, [" pointer "]\n"
// Loads row `row` of w between the multiply-adds of a previous row.
#define TRIMTAB_LOAD_W(row, n0, n1, n2, n3)                                               \
  TRIMTAB_LDR(n0, "%[w]", "64*" #row) TRIMTAB_ADVANCE("x16", 32), TRIMTAB_LD1(n1, "x16"), \
  TRIMTAB_LDR(n2, "%[w]", "64*" #row "+32") TRIMTAB_ADVANCE("x16", 32), TRIMTAB_LD1(n3, "x16")

// One step with the row in v24-v27 (even) or v28-v31 (odd), while the row `next` is loaded, and i4.
#define TRIMTAB_FMLA_STEP(...) TRIMTAB_FMLA_WITH_LOADS(__VA_ARGS__)
#define TRIMTAB_FMLA_EVEN_STEP(a0, a1, a2, a3, lane, next, i4)                                     \
  TRIMTAB_FMLA_STEP(24, 25, 26, 27, #a0 ".s[" #lane "]", #a1 ".s[" #lane "]", #a2 ".s[" #lane "]", \
               #a3 ".s[" #lane "]", TRIMTAB_LOAD_W(next, 28, 29, 30, 31), i4)
#define TRIMTAB_FMLA_ODD_STEP(a0, a1, a2, a3, lane, next, i4)                                      \
  TRIMTAB_FMLA_STEP(28, 29, 30, 31, #a0 ".s[" #lane "]", #a1 ".s[" #lane "]", #a2 ".s[" #lane "]", \
               #a3 ".s[" #lane "]", TRIMTAB_LOAD_W(next, 24, 25, 26, 27), i4)
// Multiplies the four elements in a0 to a3, while four in n0 to n3 are loaded, `group` * 4 elements
// from the pointers.
#define TRIMTAB_DEPTH_4_WITH_LOADS(a0, a1, a2, a3, r1, r2, r3, r4, n0, n1, n2, n3, group) \
  TRIMTAB_FMLA_EVEN_STEP(a0, a1, a2, a3, 0, r1,                                           \
                    TRIMTAB_LDR(n0, "%[p0]", "16*" #group) TRIMTAB_ADVANCE("%[p1]", 16))  \
  TRIMTAB_FMLA_ODD_STEP(a0, a1, a2, a3, 1, r2, TRIMTAB_LD1(n1, "%[p1]"))                  \
  TRIMTAB_FMLA_EVEN_STEP(a0, a1, a2, a3, 2, r3,                                           \
                    TRIMTAB_LDR(n2, "%[p2]", "16*" #group) TRIMTAB_ADVANCE("%[p3]", 16))  \
  TRIMTAB_FMLA_ODD_STEP(a0, a1, a2, a3, 3, r4, TRIMTAB_LD1(n3, "%[p3]"))
#define TRIMTAB_LOW_DEPTH_4(r1, r2, r3, r4, group) \
  TRIMTAB_DEPTH_4_WITH_LOADS(16, 17, 18, 19, r1, r2, r3, r4, 20, 21, 22, 23, group)
#define TRIMTAB_HIGH_DEPTH_4(r1, r2, r3, r4, group) \
  TRIMTAB_DEPTH_4_WITH_LOADS(20, 21, 22, 23, r1, r2, r3, r4, 16, 17, 18, 19, group)
#define TRIMTAB_NEXT_ITERATION \
  TRIMTAB_ADVANCE("%[w]", 2048) TRIMTAB_ADVANCE("%[p0]", 128) TRIMTAB_ADVANCE("%[p2]", 128)

// The last four steps of an iteration load for the next one, except in the last iteration.
#define TRIMTAB_NARROW_VECTORS 2
#define TRIMTAB_LOG2_UNROLL 5
#define TRIMTAB_POINTER_REGISTERS "x16",
#define TRIMTAB_INNER_LOOP                                                              \
  "add x16, %[w], #48\n"                                                                \
  TRIMTAB_LOAD_EVEN("%[w]", "")                                                         \
  "ldr q16, [%[p0]]\n"                                                                  \
  "ldr q17, [%[p1]]\n"                                                                  \
  "ldr q18, [%[p2]]\n"                                                                  \
  "ldr q19, [%[p3]]\n"                                                                  \
  "b 14f\n"                                                                             \
  "3:\n"                                                                                \
  TRIMTAB_HIGH_DEPTH_4(29, 30, 31, 32, 8) TRIMTAB_NEXT_ITERATION                        \
  "14:\n"                                                                               \
  "subs %[n], %[n], #1\n"                                                               \
  TRIMTAB_LOW_DEPTH_4(1, 2, 3, 4, 1) TRIMTAB_HIGH_DEPTH_4(5, 6, 7, 8, 2)                \
  TRIMTAB_LOW_DEPTH_4(9, 10, 11, 12, 3) TRIMTAB_HIGH_DEPTH_4(13, 14, 15, 16, 4)         \
  TRIMTAB_LOW_DEPTH_4(17, 18, 19, 20, 5) TRIMTAB_HIGH_DEPTH_4(21, 22, 23, 24, 6)        \
  TRIMTAB_LOW_DEPTH_4(25, 26, 27, 28, 7)                                                \
  "b.ne 3b\n"                                                                           \
  TRIMTAB_FMLA_EVEN_STEP(20, 21, 22, 23, 0, 29, "")                                     \
  TRIMTAB_FMLA_ODD_STEP(20, 21, 22, 23, 1, 30, "")                                      \
  TRIMTAB_FMLA_EVEN_STEP(20, 21, 22, 23, 2, 31, "") TRIMTAB_FMLA_ODD(20, 21, 22, 23, 3) \
  TRIMTAB_NEXT_ITERATION TRIMTAB_ADVANCE("%[p1]", 16) TRIMTAB_ADVANCE("%[p3]", 16)
// clang-format on

#include "kernels/arm/gemm_lane_armv8.h"

extern "C" void gemm_f32_4x16_neona55(const GemmArgs<float>& args) { Gemm<LaneTile>(args); }
