#include "kernels/arm/gemm_i8.h"

namespace {

// A vector of w holds four elements of the depth of four columns; a lane of a holds four of a row.
#define TRIMTAB_SDOT_ROW(s0, s1, s2, s3, a, lane) \
  "sdot v" #s0 ".4s, v20.16b, v" #a ".4b[" #lane  \
  "]\n"                                           \
  "sdot v" #s1 ".4s, v21.16b, v" #a ".4b[" #lane  \
  "]\n"                                           \
  "sdot v" #s2 ".4s, v22.16b, v" #a ".4b[" #lane  \
  "]\n"                                           \
  "sdot v" #s3 ".4s, v23.16b, v" #a ".4b[" #lane "]\n"
#define TRIMTAB_SDOT_LANE(lane)                                                                    \
  "ld1 {v20.16b, v21.16b, v22.16b, v23.16b}, [%[w]], #64\n" TRIMTAB_SDOT_ROW(0, 1, 2, 3, 16, lane) \
      TRIMTAB_SDOT_ROW(4, 5, 6, 7, 17, lane) TRIMTAB_SDOT_ROW(8, 9, 10, 11, 18, lane)              \
          TRIMTAB_SDOT_ROW(12, 13, 14, 15, 19, lane)
#define TRIMTAB_LOAD_ROWS(letter, bytes) \
  "ldr " letter "16, [%[p0]], #" #bytes  \
  "\n"                                   \
  "ldr " letter "17, [%[p1]], #" #bytes  \
  "\n"                                   \
  "ldr " letter "18, [%[p2]], #" #bytes  \
  "\n"                                   \
  "ldr " letter "19, [%[p3]], #" #bytes "\n"
#define TRIMTAB_SCALE_ROW(s0, s1, s2, s3) \
  TRIMTAB_SCALE(s0, 20)                   \
  TRIMTAB_SCALE(s1, 21) TRIMTAB_SCALE(s2, 22) TRIMTAB_SCALE(s3, 23)
#define TRIMTAB_SLOPE_ROW(s0, s1, s2, s3) \
  TRIMTAB_SLOPE(s0, 20, 17)               \
  TRIMTAB_SLOPE(s1, 21, 18) TRIMTAB_SLOPE(s2, 22, 17) TRIMTAB_SLOPE(s3, 23, 18)
#define TRIMTAB_REQUANTIZE_ROW(s0, s1, s2, s3) \
  TRIMTAB_ROUND(s0)                            \
  TRIMTAB_ROUND(s1) TRIMTAB_ROUND(s2) TRIMTAB_ROUND(s3) TRIMTAB_NARROW(s0, s1, s2, s3, 16)
// One row alone.
#define TRIMTAB_SDOT_LANE_OF_ROW(lane) \
  "ld1 {v20.16b, v21.16b, v22.16b, v23.16b}, [%[w]], #64\n" TRIMTAB_SDOT_ROW(0, 1, 2, 3, 16, lane)

// 16 sums, 4 vectors of a, 4 of w: 64 dot products with 8 loads per 16 elements of the depth.
struct DotTile : RowsInPlace {
  static constexpr size_t kMr = 4, kNr = 16;

  static void Multiply(const Block& block, Panel panel, size_t count, int8_t* c, size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3;
    const int8_t* const* tap;
    size_t n;
    __asm__ volatile(
        TRIMTAB_BEGIN_PANEL
        "ld1 {v0.4s, v1.4s, v2.4s, v3.4s}, [%[bias]]\n"
        "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [%[bias]]\n"
        "ld1 {v8.4s, v9.4s, v10.4s, v11.4s}, [%[bias]]\n"
        "ld1 {v12.4s, v13.4s, v14.4s, v15.4s}, [%[bias]], #64\n"
        "1:\n"  // a tap
        TRIMTAB_LOAD_TAP_POINTERS
        "lsr %[n], %[k], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        TRIMTAB_LOAD_ROWS("q", 16)
        "subs %[n], %[n], #1\n"
        TRIMTAB_SDOT_LANE(0)
        TRIMTAB_SDOT_LANE(1)
        TRIMTAB_SDOT_LANE(2)
        TRIMTAB_SDOT_LANE(3)
        "b.ne 2b\n"
        "3:\n"
        "tbz %[k], #3, 4f\n"
        TRIMTAB_LOAD_ROWS("d", 8)
        TRIMTAB_SDOT_LANE(0)
        TRIMTAB_SDOT_LANE(1)
        "4:\n"
        "tbz %[k], #2, 5f\n"
        TRIMTAB_LOAD_ROWS("s", 4)
        TRIMTAB_SDOT_LANE(0)
        "5:\n"
        TRIMTAB_TEST_LAST_TAP
        "b.ne 1b\n"

        "ld1 {v20.4s, v21.4s, v22.4s, v23.4s}, [%[scale]], #64\n"
        TRIMTAB_LOAD_ZERO_POINT(16)
        TRIMTAB_SET_ROW_POINTERS
        TRIMTAB_SCALE_ROW(0, 1, 2, 3)
        TRIMTAB_SCALE_ROW(4, 5, 6, 7)
        TRIMTAB_SCALE_ROW(8, 9, 10, 11)
        TRIMTAB_SCALE_ROW(12, 13, 14, 15)
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_REQUANTIZE_ROW(0, 1, 2, 3)
        TRIMTAB_REQUANTIZE_ROW(4, 5, 6, 7)
        TRIMTAB_REQUANTIZE_ROW(8, 9, 10, 11)
        TRIMTAB_REQUANTIZE_ROW(12, 13, 14, 15)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("6f", 17, 18)
        TRIMTAB_CLAMP(0, 17, 18)
        TRIMTAB_CLAMP(4, 17, 18)
        TRIMTAB_CLAMP(8, 17, 18)
        TRIMTAB_CLAMP(12, 17, 18)
        "6:\n"
        "str q0, [%[p0]]\n"
        "str q4, [%[p1]]\n"
        "str q8, [%[p2]]\n"
        "str q12, [%[p3]]\n"
        "add %[c], %[c], #16\n"
        TRIMTAB_END_PANEL_LOOP
        "ld1 {v20.4s, v21.4s, v22.4s, v23.4s}, [%[n]]\n"
        TRIMTAB_SLOPE_ROW(0, 1, 2, 3)
        TRIMTAB_SLOPE_ROW(4, 5, 6, 7)
        TRIMTAB_SLOPE_ROW(8, 9, 10, 11)
        TRIMTAB_SLOPE_ROW(12, 13, 14, 15)
        TRIMTAB_END_SLOPES
        TRIMTAB_STORE_F32(0, 1, 2, 3, p0)
        TRIMTAB_STORE_F32(4, 5, 6, 7, p1)
        TRIMTAB_STORE_F32(8, 9, 10, 11, p2)
        TRIMTAB_STORE_F32(12, 13, 14, 15, p3)
        TRIMTAB_END_DEQUANTIZE(64)
        : TRIMTAB_ASM_OUTPUTS
        : TRIMTAB_ASM_INPUTS
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "cc", "memory");
  }

  static constexpr size_t kFewRows = 1;
  static void MultiplyFewRows(const Block& block, Panel panel, size_t count, int8_t* c,
                              size_t c_stride) {
    const int8_t *p0, *p1, *p2, *p3;
    const int8_t* const* tap;
    size_t n;
    __asm__ volatile(
        TRIMTAB_BEGIN_PANEL
        "ld1 {v0.4s, v1.4s, v2.4s, v3.4s}, [%[bias]], #64\n"
        "1:\n"  // a tap
        "ldr %[p0], [%[tap]], #32\n"
        "lsr %[n], %[k], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        "ldr q16, [%[p0]], #16\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_SDOT_LANE_OF_ROW(0)
        TRIMTAB_SDOT_LANE_OF_ROW(1)
        TRIMTAB_SDOT_LANE_OF_ROW(2)
        TRIMTAB_SDOT_LANE_OF_ROW(3)
        "b.ne 2b\n"
        "3:\n"
        "tbz %[k], #3, 4f\n"
        "ldr d16, [%[p0]], #8\n"
        TRIMTAB_SDOT_LANE_OF_ROW(0)
        TRIMTAB_SDOT_LANE_OF_ROW(1)
        "4:\n"
        "tbz %[k], #2, 5f\n"
        "ldr s16, [%[p0]], #4\n"
        TRIMTAB_SDOT_LANE_OF_ROW(0)
        "5:\n"
        TRIMTAB_TEST_LAST_TAP
        "b.ne 1b\n"

        "ld1 {v20.4s, v21.4s, v22.4s, v23.4s}, [%[scale]], #64\n"
        TRIMTAB_LOAD_ZERO_POINT(16)
        TRIMTAB_SCALE_ROW(0, 1, 2, 3)
        TRIMTAB_BRANCH_UNLESS_REQUANTIZE
        TRIMTAB_REQUANTIZE_ROW(0, 1, 2, 3)
        TRIMTAB_BRANCH_UNLESS_CLAMPED("6f", 17, 18)
        TRIMTAB_CLAMP(0, 17, 18)
        "6:\n"
        "str q0, [%[c]], #16\n"
        TRIMTAB_END_PANEL_LOOP
        "ld1 {v20.4s, v21.4s, v22.4s, v23.4s}, [%[n]]\n"
        TRIMTAB_SLOPE_ROW(0, 1, 2, 3)
        TRIMTAB_END_SLOPES
        TRIMTAB_STORE_F32(0, 1, 2, 3, c)
        TRIMTAB_END_DEQUANTIZE(64)
        : TRIMTAB_ASM_OUTPUTS
        : TRIMTAB_ASM_INPUTS
        : "v0", "v1", "v2", "v3", "v16", "v17", "v18", "v20", "v21", "v22", "v23", "cc", "memory");
  }
};

}  // namespace

extern "C" void gemm_i8_4x16c4_neondot(const GemmArgs<int8_t>& args) { GemmI8<DotTile>(args); }
