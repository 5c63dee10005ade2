#include "kernels/arm/gemm_i8.h"

namespace {

// Two products of int8 values fit 16 bits, because weights are greater than -128. The sum of row i
// and column j is in v(4 i + j), columns are in v16 and later, rows in v24 and later, temporary
// products in the others.
#define TRIMTAB_LOAD_COLUMNS(v0, v1, v2, v3) \
  "ld1 {v" #v0 ".16b, v" #v1 ".16b, v" #v2 ".16b, v" #v3 ".16b}, [%[w]], #64\n"
#define TRIMTAB_SMULL(t, a, b) "smull v" #t ".8h, v" #a ".8b, v" #b ".8b\n"
#define TRIMTAB_SMLAL2(t, a, b) "smlal2 v" #t ".8h, v" #a ".16b, v" #b ".16b\n"
#define TRIMTAB_SMULL_4(t0, t1, t2, t3, a, b0, b1, b2, b3) \
  TRIMTAB_SMULL(t0, a, b0)                                 \
  TRIMTAB_SMULL(t1, a, b1) TRIMTAB_SMULL(t2, a, b2) TRIMTAB_SMULL(t3, a, b3)
#define TRIMTAB_SMLAL2_4(t0, t1, t2, t3, a, b0, b1, b2, b3) \
  TRIMTAB_SMLAL2(t0, a, b0)                                 \
  TRIMTAB_SMLAL2(t1, a, b1) TRIMTAB_SMLAL2(t2, a, b2) TRIMTAB_SMLAL2(t3, a, b3)
// `add`: sadalp, or saddlp, which begins a sum.
#define TRIMTAB_PAIRWISE_ADD(add, s, t) #add " v" #s ".4s, v" #t ".8h\n"
#define TRIMTAB_PAIRWISE_ADD_4(add, s0, s1, s2, s3, t0, t1, t2, t3) \
  TRIMTAB_PAIRWISE_ADD(add, s0, t0)                                 \
  TRIMTAB_PAIRWISE_ADD(add, s1, t1)                                 \
  TRIMTAB_PAIRWISE_ADD(add, s2, t2) TRIMTAB_PAIRWISE_ADD(add, s3, t3)
// 16 elements of the depth.
#define TRIMTAB_DEPTH_16(add)                                                                    \
  TRIMTAB_LOAD_COLUMNS(16, 17, 18, 19)                                                           \
  "ldr q24, [%[p0]], #16\n"                                                                      \
  "ldr q25, [%[p1]], #16\n"                                                                      \
  "ldr q26, [%[p2]], #16\n"                                                                      \
  "ldr q27, [%[p3]], #16\n" TRIMTAB_SMULL_4(20, 21, 22, 23, 24, 16, 17, 18, 19) TRIMTAB_SMULL_4( \
      28, 29, 30, 31, 25, 16, 17, 18, 19) TRIMTAB_SMLAL2_4(20, 21, 22, 23, 24, 16, 17, 18, 19)   \
      TRIMTAB_SMLAL2_4(28, 29, 30, 31, 25, 16, 17, 18, 19)                                       \
          TRIMTAB_PAIRWISE_ADD_4(add, 0, 1, 2, 3, 20, 21, 22, 23)                                \
              TRIMTAB_PAIRWISE_ADD_4(add, 4, 5, 6, 7, 28, 29, 30, 31)                            \
                  TRIMTAB_SMULL_4(20, 21, 22, 23, 26, 16, 17, 18, 19)                            \
                      TRIMTAB_SMULL_4(28, 29, 30, 31, 27, 16, 17, 18, 19)                        \
                          TRIMTAB_SMLAL2_4(20, 21, 22, 23, 26, 16, 17, 18, 19)                   \
                              TRIMTAB_SMLAL2_4(28, 29, 30, 31, 27, 16, 17, 18, 19)               \
                                  TRIMTAB_PAIRWISE_ADD_4(add, 8, 9, 10, 11, 20, 21, 22, 23)      \
                                      TRIMTAB_PAIRWISE_ADD_4(add, 12, 13, 14, 15, 28, 29, 30, 31)
// 32 elements of the depth of one row.
#define TRIMTAB_ROW_DEPTH_32(s0, s1, s2, s3, a0, a1)             \
  TRIMTAB_SMULL_4(28, 29, 30, 31, a0, 16, 17, 18, 19)            \
  TRIMTAB_SMLAL2_4(28, 29, 30, 31, a0, 16, 17, 18, 19)           \
  TRIMTAB_PAIRWISE_ADD_4(sadalp, s0, s1, s2, s3, 28, 29, 30, 31) \
  TRIMTAB_SMULL_4(28, 29, 30, 31, a1, 20, 21, 22, 23)            \
  TRIMTAB_SMLAL2_4(28, 29, 30, 31, a1, 20, 21, 22, 23)           \
  TRIMTAB_PAIRWISE_ADD_4(sadalp, s0, s1, s2, s3, 28, 29, 30, 31)
// Reduces four vectors of partial sums to four sums.
#define TRIMTAB_REDUCE_4(s0, s1, s2, s3) \
  "addp v" #s0 ".4s, v" #s0 ".4s, v" #s1 \
  ".4s\n"                                \
  "addp v" #s2 ".4s, v" #s2 ".4s, v" #s3 \
  ".4s\n"                                \
  "addp v" #s0 ".4s, v" #s0 ".4s, v" #s2 \
  ".4s\n"                                \
  "add v" #s0 ".4s, v" #s0 ".4s, v20.4s\n" TRIMTAB_SCALE(s0, 21)
#define TRIMTAB_LOAD_SCALES   \
  "ldr q20, [%[bias]], #16\n" \
  "ldr q21, [%[scale]], #16\n" TRIMTAB_LOAD_ZERO_POINT(22)

struct WideningTile : RowsInPlace {
  static constexpr size_t kMr = 4, kNr = 4;

  // clang-format off
  static void Multiply(const Block& block, Panel panel, size_t count, int8_t* c, size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3;
    const int8_t* const* tap;
    size_t n;
    __asm__ volatile(
        TRIMTAB_BEGIN_PANEL
        TRIMTAB_LOAD_TAP_POINTERS
        "lsr %[n], %[k], #4\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_DEPTH_16(saddlp)
        "b.eq 5f\n"
        "2:\n"
        "tbz %[n], #0, 3f\n"
        TRIMTAB_DEPTH_16(sadalp)
        "3:\n"
        "lsr %[n], %[n], #1\n"
        "cbz %[n], 5f\n"
        "4:\n"
        TRIMTAB_LOAD_COLUMNS(16, 17, 18, 19)
        "ldp q24, q25, [%[p0]], #32\n"
        TRIMTAB_LOAD_COLUMNS(20, 21, 22, 23)
        "ldp q26, q27, [%[p1]], #32\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_ROW_DEPTH_32(0, 1, 2, 3, 24, 25)
        "ldp q24, q25, [%[p2]], #32\n"
        TRIMTAB_ROW_DEPTH_32(4, 5, 6, 7, 26, 27)
        "ldp q26, q27, [%[p3]], #32\n"
        TRIMTAB_ROW_DEPTH_32(8, 9, 10, 11, 24, 25)
        TRIMTAB_ROW_DEPTH_32(12, 13, 14, 15, 26, 27)
        "b.ne 4b\n"
        "5:\n"
        TRIMTAB_TEST_LAST_TAP
        "b.eq 6f\n"
        TRIMTAB_LOAD_TAP_POINTERS
        "lsr %[n], %[k], #4\n"
        "b 2b\n"
        "6:\n"

        TRIMTAB_LOAD_SCALES
        TRIMTAB_REDUCE_4(0, 1, 2, 3)
        TRIMTAB_REDUCE_4(4, 5, 6, 7)
        TRIMTAB_REDUCE_4(8, 9, 10, 11)
        TRIMTAB_REDUCE_4(12, 13, 14, 15)
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_ROUND(0)
        TRIMTAB_ROUND(4)
        TRIMTAB_ROUND(8)
        TRIMTAB_ROUND(12)
        TRIMTAB_NARROW(0, 4, 8, 12, 22)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("7f", 23, 24)
        TRIMTAB_CLAMP(0, 23, 24)
        "7:\n"
        "add %[p0], %[c], %[c_stride]\n"
        "str s0, [%[c]], #4\n"
        "st1 {v0.s}[1], [%[p0]], %[c_stride]\n"
        "st1 {v0.s}[2], [%[p0]], %[c_stride]\n"
        "st1 {v0.s}[3], [%[p0]]\n"
        TRIMTAB_END_PANEL_LOOP
        "ldr q20, [%[n]]\n"
        TRIMTAB_SLOPE(0, 20, 23)
        TRIMTAB_SLOPE(4, 20, 24)
        TRIMTAB_SLOPE(8, 20, 25)
        TRIMTAB_SLOPE(12, 20, 26)
        TRIMTAB_END_SLOPES
        TRIMTAB_SET_ROW_POINTERS
        "str q0, [%[p0]]\n"
        "str q4, [%[p1]]\n"
        "str q8, [%[p2]]\n"
        "str q12, [%[p3]]\n"
        TRIMTAB_END_DEQUANTIZE(16)
        : TRIMTAB_ASM_OUTPUTS
        : TRIMTAB_ASM_INPUTS
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
  }

  // One row alone, as in a matrix-vector multiplication.
  static constexpr size_t kFewRows = 1;
  static void MultiplyFewRows(const Block& block, Panel panel, size_t count, int8_t* c,
                          size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3;
    const int8_t* const* tap;
    size_t n;
    __asm__ volatile(
        TRIMTAB_BEGIN_PANEL
        "movi v0.4s, #0\n"
        "movi v1.4s, #0\n"
        "movi v2.4s, #0\n"
        "movi v3.4s, #0\n"
        "1:\n"  // a tap
        "ldr %[p0], [%[tap]], #32\n"
        "lsr %[n], %[k], #4\n"
        "2:\n"
        TRIMTAB_LOAD_COLUMNS(16, 17, 18, 19)
        "ldr q24, [%[p0]], #16\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_SMULL_4(28, 29, 30, 31, 24, 16, 17, 18, 19)
        TRIMTAB_SMLAL2_4(28, 29, 30, 31, 24, 16, 17, 18, 19)
        TRIMTAB_PAIRWISE_ADD_4(sadalp, 0, 1, 2, 3, 28, 29, 30, 31)
        "b.ne 2b\n"
        TRIMTAB_TEST_LAST_TAP
        "b.ne 1b\n"
        TRIMTAB_LOAD_SCALES
        TRIMTAB_REDUCE_4(0, 1, 2, 3)
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_ROUND(0)
        TRIMTAB_NARROW(0, 1, 2, 3, 22)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("7f", 23, 24)
        TRIMTAB_CLAMP(0, 23, 24)
        "7:\n"
        "str s0, [%[c]], #4\n"
        TRIMTAB_END_PANEL_LOOP
        "ldr q20, [%[n]]\n"
        TRIMTAB_SLOPE(0, 20, 23)
        TRIMTAB_END_SLOPES
        "str q0, [%[c]]\n"
        TRIMTAB_END_DEQUANTIZE(16)
        : TRIMTAB_ASM_OUTPUTS
        : TRIMTAB_ASM_INPUTS
        : "v0", "v1", "v2", "v3", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
          "v28", "v29", "v30", "v31", "cc", "memory");
  }
  // clang-format on
};

}  // namespace

extern "C" void gemm_i8_4x4c16_neon(const GemmArgs<int8_t>& args) { GemmI8<WideningTile>(args); }
