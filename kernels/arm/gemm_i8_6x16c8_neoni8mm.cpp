#include "kernels/arm/gemm_i8.h"

namespace {

// One instruction multiplies two rows by two columns, eight elements of the depth. v24 to v26 hold
// two rows each, v27 to v30 two columns each; v(8 i + j) the sums of the rows of v(24 + i) and
// columns 2 j and 2 j + 1. 16 columns, because channels are usually multiples of 16. Two rows in
// place would be two loads, so the rows of a tile are interleaved first: then 48 products need 6
// loads.
#define TRIMTAB_LOAD_ROW_PAIR(v, p0, p1) \
  "ldr d" #v ", [%[" #p0                 \
  "]], #8\n"                             \
  "ld1 {v" #v ".d}[1], [%[" #p1 "]], #8\n"
#define TRIMTAB_SMMLA(s, a, b) "smmla v" #s ".4s, v" #a ".16b, v" #b ".16b\n"
#define TRIMTAB_SMMLA_3(s0, s1, s2, b) \
  TRIMTAB_SMMLA(s0, 24, b) TRIMTAB_SMMLA(s1, 25, b) TRIMTAB_SMMLA(s2, 26, b)
#define TRIMTAB_LOAD_WEIGHTS "ld1 {v27.16b, v28.16b, v29.16b, v30.16b}, [%[w]], #64\n"
#define TRIMTAB_LOAD_6_ROWS "ld1 {v24.16b, v25.16b, v26.16b}, [%[p0]], #48\n"
#define TRIMTAB_DEPTH_8          \
  TRIMTAB_LOAD_WEIGHTS           \
  TRIMTAB_LOAD_6_ROWS            \
  TRIMTAB_SMMLA_3(0, 8, 16, 27)  \
  TRIMTAB_SMMLA_3(1, 9, 17, 28)  \
  TRIMTAB_SMMLA_3(2, 10, 18, 29) \
  TRIMTAB_SMMLA_3(3, 11, 19, 30) \
  TRIMTAB_LOAD_WEIGHTS           \
  TRIMTAB_SMMLA_3(4, 12, 20, 27) \
  TRIMTAB_SMMLA_3(5, 13, 21, 28) \
  TRIMTAB_SMMLA_3(6, 14, 22, 29) \
  TRIMTAB_SMMLA_3(7, 15, 23, 30)
// 16 elements of two rows, and 8, as pairs of 8 of both.
#define TRIMTAB_PACK_DEPTH_16(p0, p1, first, last) \
  "ldp %[t0], %[t1], [%[" #p0                      \
  "]], #16\n"                                      \
  "ldp %[t2], %[t3], [%[" #p1                      \
  "]], #16\n"                                      \
  "stp %[t0], %[t2], [%[to], " first               \
  "]\n"                                            \
  "stp %[t1], %[t3], [%[to], " last "]\n"
#define TRIMTAB_PACK_DEPTH_8(p0, p1) \
  "ldr %[t0], [%[" #p0               \
  "]]\n"                             \
  "ldr %[t1], [%[" #p1               \
  "]]\n"                             \
  "stp %[t0], %[t1], [%[to]], #16\n"
// Duplicates four values into two vectors, in the order of the sums.
#define TRIMTAB_DUPLICATE(low, high, source)      \
  "zip1 v" #low ".2d, v" #source ".2d, v" #source \
  ".2d\n"                                         \
  "zip2 v" #high ".2d, v" #source ".2d, v" #source ".2d\n"
#define TRIMTAB_INIT_SUMS(s0, s1, s2, s3, s4, s5, s6, s7) \
  TRIMTAB_DUPLICATE(s0, s1, 24)                           \
  TRIMTAB_DUPLICATE(s2, s3, 25) TRIMTAB_DUPLICATE(s4, s5, 26) TRIMTAB_DUPLICATE(s6, s7, 27)
#define TRIMTAB_SCALE_ROW_PAIR(s0, s1, s2, s3, s4, s5, s6, s7) \
  TRIMTAB_SCALE(s0, 24)                                        \
  TRIMTAB_SCALE(s1, 25)                                        \
  TRIMTAB_SCALE(s2, 26)                                        \
  TRIMTAB_SCALE(s3, 27)                                        \
  TRIMTAB_SCALE(s4, 28) TRIMTAB_SCALE(s5, 29) TRIMTAB_SCALE(s6, 30) TRIMTAB_SCALE(s7, 31)
// Slopes of eight columns, in the order of the sums.
#define TRIMTAB_LOAD_SLOPES(offset) \
  "ldp q24, q25, [%[n], " offset "]\n" TRIMTAB_DUPLICATE(26, 27, 24) TRIMTAB_DUPLICATE(28, 29, 25)
#define TRIMTAB_SLOPE_4(s0, s1, s2, s3) \
  TRIMTAB_SLOPE(s0, 26, 30)             \
  TRIMTAB_SLOPE(s1, 27, 31) TRIMTAB_SLOPE(s2, 28, 30) TRIMTAB_SLOPE(s3, 29, 31)
#define TRIMTAB_ROUND_4(s0, s1, s2, s3) \
  TRIMTAB_ROUND(s0) TRIMTAB_ROUND(s1) TRIMTAB_ROUND(s2) TRIMTAB_ROUND(s3)
#define TRIMTAB_NARROW_ROW_PAIR(s0, s1, s2, s3, s4, s5, s6, s7) \
  TRIMTAB_ROUND_4(s0, s1, s2, s3)                               \
  TRIMTAB_ROUND_4(s4, s5, s6, s7)                               \
  TRIMTAB_NARROW(s0, s1, s2, s3, 24) TRIMTAB_NARROW(s4, s5, s6, s7, 24)
#define TRIMTAB_CLAMP_ROW_PAIR(left, right) TRIMTAB_CLAMP(left, 25, 26) TRIMTAB_CLAMP(right, 25, 26)
// Stores the int8 values of two rows, which are interleaved in pairs of columns.
#define TRIMTAB_STORE_ROW_PAIR(left, right, p0, p1) \
  "uzp1 v27.8h, v" #left ".8h, v" #right            \
  ".8h\n"                                           \
  "uzp2 v28.8h, v" #left ".8h, v" #right            \
  ".8h\n"                                           \
  "str q27, [%[" #p0                                \
  "]]\n"                                            \
  "str q28, [%[" #p1 "]]\n"
// Stores float32 sums, which have the same order; `zip`: zip1 for the first row, zip2 for the
// second one.
#define TRIMTAB_STORE_F32_ROW(zip, s0, s1, s2, s3, s4, s5, s6, s7, p)                        \
  #zip " v24.2d, v" #s0 ".2d, v" #s1 ".2d\n" #zip " v25.2d, v" #s2 ".2d, v" #s3 ".2d\n" #zip \
       " v26.2d, v" #s4 ".2d, v" #s5 ".2d\n" #zip " v27.2d, v" #s6 ".2d, v" #s7              \
       ".2d\n" TRIMTAB_STORE_F32(24, 25, 26, 27, p)
#define TRIMTAB_STORE_F32_ROW_PAIR(s0, s1, s2, s3, s4, s5, s6, s7, p0, p1) \
  TRIMTAB_STORE_F32_ROW(zip1, s0, s1, s2, s3, s4, s5, s6, s7, p0)          \
  TRIMTAB_STORE_F32_ROW(zip2, s0, s1, s2, s3, s4, s5, s6, s7, p1)
// Two rows alone: v0 to v7 are their sums.
#define TRIMTAB_SMMLA_4(s0, s1, s2, s3) \
  TRIMTAB_SMMLA(s0, 24, 27)             \
  TRIMTAB_SMMLA(s1, 24, 28) TRIMTAB_SMMLA(s2, 24, 29) TRIMTAB_SMMLA(s3, 24, 30)
#define TRIMTAB_DEPTH_8_OF_ROW_PAIR \
  TRIMTAB_LOAD_WEIGHTS              \
  TRIMTAB_LOAD_ROW_PAIR(24, p0, p1) \
  TRIMTAB_SMMLA_4(0, 1, 2, 3) TRIMTAB_LOAD_WEIGHTS TRIMTAB_SMMLA_4(4, 5, 6, 7)
#define TRIMTAB_LOAD_SCALES \
  "ld1 {v24.4s, v25.4s, v26.4s, v27.4s}, [%[scale]], #64\n"  \
  TRIMTAB_DUPLICATE(30, 31, 27) TRIMTAB_DUPLICATE(28, 29, 26)        \
  TRIMTAB_DUPLICATE(26, 27, 25)                                  \
  "zip2 v25.2d, v24.2d, v24.2d\n"                            \
  "zip1 v24.2d, v24.2d, v24.2d\n"

struct MatrixTile {
  static constexpr size_t kMr = 6, kNr = 16;

  // Interleaves each pair of rows: eight elements of the first, then of the second; pairs follow
  // each other.
  static void Pack(const Block& block) {
    const int8_t *p0, *p1, *p2, *p3, *p4, *p5;
    const int8_t* const* tap = block.a;
    int8_t* to = block.packed;
    size_t n, t0, t1, t2, t3;
    // clang-format off
    __asm__ volatile(
        "1:\n"  // a tap
        TRIMTAB_LOAD_TAP_POINTERS
        "ldp %[p4], %[p5], [%[tap]], #16\n"
        "lsr %[n], %[k], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_PACK_DEPTH_16(p2, p3, "#16", "#64")
        TRIMTAB_PACK_DEPTH_16(p4, p5, "#32", "#80")
        TRIMTAB_PACK_DEPTH_16(p0, p1, "#0", "#48")
        "add %[to], %[to], #96\n"
        "b.ne 2b\n"
        "3:\n"
        "tbz %[k], #3, 4f\n"
        TRIMTAB_PACK_DEPTH_8(p0, p1)
        TRIMTAB_PACK_DEPTH_8(p2, p3)
        TRIMTAB_PACK_DEPTH_8(p4, p5)
        "4:\n"
        TRIMTAB_TEST_LAST_TAP
        "b.ne 1b\n"
        : [tap] "+r"(tap), [to] "+r"(to), [n] "=&r"(n), [p0] "=&r"(p0), [p1] "=&r"(p1),
          [p2] "=&r"(p2), [p3] "=&r"(p3), [p4] "=&r"(p4), [p5] "=&r"(p5), [t0] "=&r"(t0),
          [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)
        : [end] "r"(block.end), [k] "r"(block.k)
        : "cc", "memory");
    // clang-format on
  }

  static void Multiply(const Block& block, Panel panel, size_t count, int8_t* c, size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3, *p4, *p5;
    const int8_t* const* tap;
    size_t n;
    // clang-format off
    __asm__ volatile(
        "10:\n"
        "ld1 {v24.4s, v25.4s, v26.4s, v27.4s}, [%[bias]], #64\n"
        TRIMTAB_INIT_SUMS(0, 1, 2, 3, 4, 5, 6, 7)
        TRIMTAB_INIT_SUMS(8, 9, 10, 11, 12, 13, 14, 15)
        TRIMTAB_INIT_SUMS(16, 17, 18, 19, 20, 21, 22, 23)
        "mov %[p0], %[packed]\n"
        "lsr %[n], %[depth], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_DEPTH_8
        TRIMTAB_DEPTH_8
        "b.ne 2b\n"
        "3:\n"
        "tbz %[depth], #3, 4f\n"
        TRIMTAB_DEPTH_8
        "4:\n"

        TRIMTAB_LOAD_SCALES
        TRIMTAB_SCALE_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7)
        TRIMTAB_SCALE_ROW_PAIR(8, 9, 10, 11, 12, 13, 14, 15)
        TRIMTAB_SCALE_ROW_PAIR(16, 17, 18, 19, 20, 21, 22, 23)
        TRIMTAB_SET_ROW_POINTERS
        "add %[p4], %[c], %[c_stride], lsl #2\n"
        "add %[p5], %[p1], %[c_stride], lsl #2\n"
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_LOAD_ZERO_POINT(24)
        TRIMTAB_NARROW_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7)
        TRIMTAB_NARROW_ROW_PAIR(8, 9, 10, 11, 12, 13, 14, 15)
        TRIMTAB_NARROW_ROW_PAIR(16, 17, 18, 19, 20, 21, 22, 23)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("5f", 25, 26)
        TRIMTAB_CLAMP_ROW_PAIR(0, 4) TRIMTAB_CLAMP_ROW_PAIR(8, 12) TRIMTAB_CLAMP_ROW_PAIR(16, 20)
        "5:\n"
        TRIMTAB_STORE_ROW_PAIR(0, 4, p0, p1)
        TRIMTAB_STORE_ROW_PAIR(8, 12, p2, p3)
        TRIMTAB_STORE_ROW_PAIR(16, 20, p4, p5)
        "add %[c], %[c], #16\n"
        TRIMTAB_END_PANEL_LOOP
        TRIMTAB_LOAD_SLOPES("#0")
        TRIMTAB_SLOPE_4(0, 1, 2, 3)
        TRIMTAB_SLOPE_4(8, 9, 10, 11)
        TRIMTAB_SLOPE_4(16, 17, 18, 19)
        TRIMTAB_LOAD_SLOPES("#32")
        TRIMTAB_SLOPE_4(4, 5, 6, 7)
        TRIMTAB_SLOPE_4(12, 13, 14, 15)
        TRIMTAB_SLOPE_4(20, 21, 22, 23)
        TRIMTAB_END_SLOPES
        TRIMTAB_STORE_F32_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7, p0, p1)
        TRIMTAB_STORE_F32_ROW_PAIR(8, 9, 10, 11, 12, 13, 14, 15, p2, p3)
        TRIMTAB_STORE_F32_ROW_PAIR(16, 17, 18, 19, 20, 21, 22, 23, p4, p5)
        TRIMTAB_END_DEQUANTIZE(64)
        : TRIMTAB_ASM_OUTPUTS, [p4] "=&r"(p4), [p5] "=&r"(p5)
        : TRIMTAB_ASM_INPUTS, [packed] "r"(block.packed), [depth] "r"(block.depth)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    // clang-format on
  }

  static constexpr size_t kFewRows = 2;
  static void MultiplyFewRows(const Block& block, Panel panel, size_t count, int8_t* c,
                              size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3;
    const int8_t* const* tap;
    size_t n;
    // clang-format off
    __asm__ volatile(
        TRIMTAB_BEGIN_PANEL
        "ld1 {v24.4s, v25.4s, v26.4s, v27.4s}, [%[bias]], #64\n"
        TRIMTAB_INIT_SUMS(0, 1, 2, 3, 4, 5, 6, 7)
        "1:\n"  // a tap
        "ldp %[p0], %[p1], [%[tap]], #48\n"
        "lsr %[n], %[k], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_DEPTH_8_OF_ROW_PAIR
        TRIMTAB_DEPTH_8_OF_ROW_PAIR
        "b.ne 2b\n"
        "3:\n"
        "tbz %[k], #3, 4f\n"
        TRIMTAB_DEPTH_8_OF_ROW_PAIR
        "4:\n"
        TRIMTAB_TEST_LAST_TAP
        "b.ne 1b\n"
        TRIMTAB_LOAD_SCALES
        TRIMTAB_SCALE_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7)
        TRIMTAB_SET_ROW_POINTERS
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_LOAD_ZERO_POINT(24)
        TRIMTAB_NARROW_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("5f", 25, 26)
        TRIMTAB_CLAMP_ROW_PAIR(0, 4)
        "5:\n"
        TRIMTAB_STORE_ROW_PAIR(0, 4, p0, p1)
        "add %[c], %[c], #16\n"
        TRIMTAB_END_PANEL_LOOP
        TRIMTAB_LOAD_SLOPES("#0")
        TRIMTAB_SLOPE_4(0, 1, 2, 3)
        TRIMTAB_LOAD_SLOPES("#32")
        TRIMTAB_SLOPE_4(4, 5, 6, 7)
        TRIMTAB_END_SLOPES
        TRIMTAB_STORE_F32_ROW_PAIR(0, 1, 2, 3, 4, 5, 6, 7, p0, p1)
        TRIMTAB_END_DEQUANTIZE(64)
        : TRIMTAB_ASM_OUTPUTS
        : TRIMTAB_ASM_INPUTS
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v24", "v25", "v26", "v27", "v28", "v29",
          "v30", "v31", "cc", "memory");
    // clang-format on
  }
};

}  // namespace

extern "C" void gemm_i8_6x16c8_neoni8mm(const GemmArgs<int8_t>& args) { GemmI8<MatrixTile>(args); }
