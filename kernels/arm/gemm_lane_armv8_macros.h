// Assembly text for the inner loops of gemm_lane_armv8.h.
//
// v0-v15 hold the sums, v16-v23 eight elements of each row of a, and v24-v27 and v28-v31 a row of w
// each: one is loaded while the other is multiplied.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_MACROS_H_
#define TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_MACROS_H_

#define TRIMTAB_FMLA(sum, b, a) "fmla v" #sum ".4s, v" #b ".4s, v" a "\n"
#define TRIMTAB_FMLA_ROW(s0, s1, s2, s3, b0, b1, b2, b3, a) \
  TRIMTAB_FMLA(s0, b0, a) TRIMTAB_FMLA(s1, b1, a) TRIMTAB_FMLA(s2, b2, a) TRIMTAB_FMLA(s3, b3, a)
#define TRIMTAB_FMLA_ROWS(b0, b1, b2, b3, a0, a1, a2, a3) \
  TRIMTAB_FMLA_ROW(0, 1, 2, 3, b0, b1, b2, b3, a0)        \
  TRIMTAB_FMLA_ROW(4, 5, 6, 7, b0, b1, b2, b3, a1)        \
  TRIMTAB_FMLA_ROW(8, 9, 10, 11, b0, b1, b2, b3, a2)      \
  TRIMTAB_FMLA_ROW(12, 13, 14, 15, b0, b1, b2, b3, a3)
// Multiplies lane `lane` of the rows of a by a row of w.
#define TRIMTAB_FMLA_EVEN(a0, a1, a2, a3, lane)                                                    \
  TRIMTAB_FMLA_ROWS(24, 25, 26, 27, #a0 ".s[" #lane "]", #a1 ".s[" #lane "]", #a2 ".s[" #lane "]", \
                    #a3 ".s[" #lane "]")
#define TRIMTAB_FMLA_ODD(a0, a1, a2, a3, lane)                                                     \
  TRIMTAB_FMLA_ROWS(28, 29, 30, 31, #a0 ".s[" #lane "]", #a1 ".s[" #lane "]", #a2 ".s[" #lane "]", \
                    #a3 ".s[" #lane "]")
// Loads a row of w; `step` may advance the pointer: ", #64" moves it to the next row.
#define TRIMTAB_LOAD_EVEN(pointer, step) \
  "ld1 {v24.4s, v25.4s, v26.4s, v27.4s}, [" pointer "]" step "\n"
#define TRIMTAB_LOAD_ODD(pointer, step) \
  "ld1 {v28.4s, v29.4s, v30.4s, v31.4s}, [" pointer "]" step "\n"
#define TRIMTAB_LOAD_NEXT_EVEN TRIMTAB_LOAD_EVEN("%[w]", ", #64")
#define TRIMTAB_LOAD_NEXT_ODD TRIMTAB_LOAD_ODD("%[w]", ", #64")

#define TRIMTAB_ADVANCE(pointer, bytes) "add " pointer ", " pointer ", #" #bytes "\n"

// Eight elements of each row with the fewest instructions.
// clang-format off
#define TRIMTAB_DEPTH_8                                      \
  TRIMTAB_LOAD_NEXT_EVEN                                     \
  "ldp q16, q20, [%[p0]], #32\n"                             \
  "ldp q17, q21, [%[p1]], #32\n"                             \
  "ldp q18, q22, [%[p2]], #32\n"                             \
  "ldp q19, q23, [%[p3]], #32\n"                             \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 0) \
  TRIMTAB_LOAD_NEXT_EVEN TRIMTAB_FMLA_ODD(16, 17, 18, 19, 1) \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 2) \
  TRIMTAB_LOAD_NEXT_EVEN TRIMTAB_FMLA_ODD(16, 17, 18, 19, 3) \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(20, 21, 22, 23, 0) \
  TRIMTAB_LOAD_NEXT_EVEN TRIMTAB_FMLA_ODD(20, 21, 22, 23, 1) \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(20, 21, 22, 23, 2) \
  TRIMTAB_FMLA_ODD(20, 21, 22, 23, 3)

// The same for four.
#define TRIMTAB_DEPTH_4                                      \
  TRIMTAB_LOAD_NEXT_EVEN                                     \
  "ldr q16, [%[p0]], #16\n"                                  \
  "ldr q17, [%[p1]], #16\n"                                  \
  "ldr q18, [%[p2]], #16\n"                                  \
  "ldr q19, [%[p3]], #16\n"                                  \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 0) \
  TRIMTAB_LOAD_NEXT_EVEN TRIMTAB_FMLA_ODD(16, 17, 18, 19, 1) \
  TRIMTAB_LOAD_NEXT_ODD TRIMTAB_FMLA_EVEN(16, 17, 18, 19, 2) \
  TRIMTAB_FMLA_ODD(16, 17, 18, 19, 3)
// clang-format on

#endif  // TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV8_MACROS_H_
