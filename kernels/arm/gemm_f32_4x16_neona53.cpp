#include "kernels/arm/vec_neon.h"

#include "kernels/arm/gemm_lane_armv8_macros.h"

// The loop for Cortex-A53, by LLVM's model (AArch64SchedA53.td): an instruction waits until it
// writes back no sooner than the previous ones. A multiply-add writes back after 10 cycles, so the
// next instruction waits: an LD1 of four registers 3 cycles (it writes back after 7), an LDP 6, an
// ADD 7, a post-increment and a branch 9 or 10. So loads are grouped, and rows of w have three
// pointers %[w], x16, x17, which mostly advance in pairs of ADD that share one wait.
//
// Eight elements from the rows r0 to r7 of w. On entry a holds r0, b r1, c r4; on exit a holds r12,
// b r9, c r8, so the next eight exchange a and c. o0 to o3: offsets in bytes of the rows of a from
// their pointers; `step` advances one of these.
// clang-format off
#define TRIMTAB_BEGIN_DEPTH_8(a, b, c, o0, o1, o2, o3, step)                                       \
  TRIMTAB_LOAD_EVEN(a, "")                                                                         \
  "ldp q16, q20, [%[p0], #" #o0 "]\n"                                                              \
  "ldp q17, q21, [%[p1], #" #o1 "]\n"                                                              \
  "ldp q18, q22, [%[p2], #" #o2 "]\n"                                                              \
  "ldp q19, q23, [%[p3], #" #o3 "]\n"                                                              \
  step TRIMTAB_ADVANCE(a, 192) TRIMTAB_LOAD_ODD(b, ", #64")                                        \
  TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 0)                                                             \
  TRIMTAB_LOAD_EVEN(b, "") TRIMTAB_FMLA_ODD(16, 17, 18, 19, 1)                                     \
  TRIMTAB_LOAD_ODD(a, "") TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 2) TRIMTAB_FMLA_ODD(16, 17, 18, 19, 3) \
  TRIMTAB_LOAD_EVEN(c, "") TRIMTAB_ADVANCE(b, 192) TRIMTAB_ADVANCE(c, 192)                         \
  TRIMTAB_LOAD_ODD(b, ", #64")                                                                     \
  TRIMTAB_FMLA_EVEN(20, 21, 22, 23, 0) TRIMTAB_FMLA_ODD(20, 21, 22, 23, 1)                         \
  TRIMTAB_LOAD_EVEN(b, "") TRIMTAB_ADVANCE(b, 192) TRIMTAB_ADVANCE(a, 576)
#define TRIMTAB_END_DEPTH_8(c) \
  TRIMTAB_LOAD_ODD(c, ", #64") \
  TRIMTAB_FMLA_EVEN(20, 21, 22, 23, 2) TRIMTAB_FMLA_ODD(20, 21, 22, 23, 3)

// The branch is where the loads wait anyway, so the loop is entered past its first steps.
#define TRIMTAB_NARROW_VECTORS 2
#define TRIMTAB_LOG2_UNROLL 5
#define TRIMTAB_POINTER_REGISTERS "x16", "x17",
#define TRIMTAB_INNER_LOOP                                                                     \
  "add x16, %[w], #64\n"                                                                       \
  "add x17, %[w], #256\n"                                                                      \
  "b 14f\n"                                                                                    \
  "3:\n"                                                                                       \
  TRIMTAB_END_DEPTH_8("%[w]")                                                                  \
  "14:\n"                                                                                      \
  TRIMTAB_BEGIN_DEPTH_8("%[w]", "x16", "x17", 0, 0, 0, 0, TRIMTAB_ADVANCE("%[p0]", 128))       \
  TRIMTAB_END_DEPTH_8("x17")                                                                   \
  TRIMTAB_BEGIN_DEPTH_8("x17", "x16", "%[w]", -96, 32, 32, 32, TRIMTAB_ADVANCE("%[p1]", 128))  \
  TRIMTAB_END_DEPTH_8("%[w]")                                                                  \
  TRIMTAB_BEGIN_DEPTH_8("%[w]", "x16", "x17", -64, -64, 64, 64, TRIMTAB_ADVANCE("%[p2]", 128)) \
  TRIMTAB_END_DEPTH_8("x17")                                                                   \
  TRIMTAB_BEGIN_DEPTH_8("x17", "x16", "%[w]", -32, -32, -32, 96,                               \
                      TRIMTAB_ADVANCE("%[p3]", 128) "subs %[n], %[n], #1\n")                   \
  "b.ne 3b\n"                                                                                  \
  TRIMTAB_END_DEPTH_8("%[w]")
// clang-format on

#include "kernels/arm/gemm_lane_armv8.h"

extern "C" void gemm_f32_4x16_neona53(const GemmArgs<float>& args) { Gemm<LaneTile>(args); }
