#include "kernels/arm/gemm_bytes.h"
#include "kernels/arm/requantise.h"
#include "kernels/generic/unroll.h"

namespace {

// An instruction multiplies two rows by two columns, eight of the depth at once. v24 to v27 hold two
// rows each, v28 to v31 two columns each; v(6 i + j) sums of the rows of v(24 + i) and columns
// 2 j and 2 j + 1: in 16 of the depth 48 products with 19 loads.
#define TRIMTAB_TWO(v, p0, p1) \
  "ldr d" #v ", [%[" #p0       \
  "]], #8\n"                   \
  "ld1 {v" #v ".d}[1], [%[" #p1 "]], #8\n"
#define TRIMTAB_ROWS \
  TRIMTAB_TWO(24, p0, p1) TRIMTAB_TWO(25, p2, p3) TRIMTAB_TWO(26, p4, p5) TRIMTAB_TWO(27, p6, p7)
#define TRIMTAB_PRODUCT(s, a, b) "smmla v" #s ".4s, v" #a ".16b, v" #b ".16b\n"
#define TRIMTAB_COLUMNS(s0, s1, s2, s3, b) \
  TRIMTAB_PRODUCT(s0, 24, b)               \
  TRIMTAB_PRODUCT(s1, 25, b) TRIMTAB_PRODUCT(s2, 26, b) TRIMTAB_PRODUCT(s3, 27, b)
#define TRIMTAB_FOUR_VECTORS "ld1 {v28.16b, v29.16b, v30.16b, v31.16b}, [%[w]], #64\n"
#define TRIMTAB_ZEROS(s0, s1, s2, s3) \
  "movi v" #s0                        \
  ".4s, #0\n"                         \
  "movi v" #s1                        \
  ".4s, #0\n"                         \
  "movi v" #s2                        \
  ".4s, #0\n"                         \
  "movi v" #s3 ".4s, #0\n"
#define TRIMTAB_STORE(s0, s1, s2, s3) \
  "st1 {v" #s0 ".4s, v" #s1 ".4s, v" #s2 ".4s, v" #s3 ".4s}, [%[sums]], #64\n"

struct MatrixTile {
  static constexpr size_t kMr = 8, kNr = 12;

  static inline void Multiply(const Block& block) {
    int32x4_t sums[4][6];  // two rows by two columns each
    Sums(block, &sums[0][0]);
    const Limits limits(block);
    TRIMTAB_UNROLL
    for (size_t pair = 0; pair < 4; ++pair) {
      int32x4_t rows[2][4];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < 3; ++j) {
        const int64x2_t left = vreinterpretq_s64_s32(sums[pair][2 * j]);
        const int64x2_t right = vreinterpretq_s64_s32(sums[pair][2 * j + 1]);
        const int32x4_t bias = vld1q_s32(block.bias + 4 * j);
        const float32x4_t scale = vld1q_f32(block.scale + 4 * j);
        const int32x4_t both[2] = {vreinterpretq_s32_s64(vzip1q_s64(left, right)),
                                   vreinterpretq_s32_s64(vzip2q_s64(left, right))};
        TRIMTAB_UNROLL
        for (int i = 0; i < 2; ++i) {
          const float32x4_t sum = vcvtq_f32_s32(vaddq_s32(both[i], bias));
          rows[i][j] = vcvtnq_s32_f32(vmulq_f32(sum, scale));
        }
      }
      TRIMTAB_UNROLL
      for (size_t i = 0; i < 2; ++i) {
        const int8x16_t bytes = limits.Store(rows[i][0], rows[i][1], rows[i][2], rows[i][2]);
        int8_t* const c = block.c[2 * pair + i];
        vst1_s8(c, vget_low_s8(bytes));
        const int32_t last = vgetq_lane_s32(vreinterpretq_s32_s8(bytes), 2);
        memcpy(c + 8, &last, sizeof(last));
      }
    }
  }

  static inline void Sums(const Block& block, int32x4_t* sums) {
    const int8_t *w = block.w, *p0, *p1, *p2, *p3, *p4, *p5, *p6, *p7;
    const int8_t* const* tap = block.a;
    size_t taps = block.taps, n;
    __asm__ volatile(
        TRIMTAB_ZEROS(0, 1, 2, 3) TRIMTAB_ZEROS(4, 5, 6, 7) TRIMTAB_ZEROS(8, 9, 10, 11)
        TRIMTAB_ZEROS(12, 13, 14, 15) TRIMTAB_ZEROS(16, 17, 18, 19) TRIMTAB_ZEROS(20, 21, 22, 23)
        "1:\n"  // a tap
        TRIMTAB_NEXT_TAP
        "ldp %[p4], %[p5], [%[tap]], #16\n"
        "ldp %[p6], %[p7], [%[tap]], #16\n"
        "lsr %[n], %[k], #4\n"
        "cbz %[n], 3f\n"
        "2:\n"
        TRIMTAB_ROWS
        TRIMTAB_FOUR_VECTORS
        "subs %[n], %[n], #1\n"
        TRIMTAB_COLUMNS(0, 6, 12, 18, 28)
        TRIMTAB_COLUMNS(1, 7, 13, 19, 29)
        TRIMTAB_COLUMNS(2, 8, 14, 20, 30)
        TRIMTAB_COLUMNS(3, 9, 15, 21, 31)
        TRIMTAB_FOUR_VECTORS
        TRIMTAB_COLUMNS(4, 10, 16, 22, 28)
        TRIMTAB_COLUMNS(5, 11, 17, 23, 29)
        TRIMTAB_ROWS
        TRIMTAB_COLUMNS(0, 6, 12, 18, 30)
        TRIMTAB_COLUMNS(1, 7, 13, 19, 31)
        TRIMTAB_FOUR_VECTORS
        TRIMTAB_COLUMNS(2, 8, 14, 20, 28)
        TRIMTAB_COLUMNS(3, 9, 15, 21, 29)
        TRIMTAB_COLUMNS(4, 10, 16, 22, 30)
        TRIMTAB_COLUMNS(5, 11, 17, 23, 31)
        "b.ne 2b\n"
        "3:\n"
        "tbz %[k], #3, 4f\n"
        TRIMTAB_ROWS
        TRIMTAB_FOUR_VECTORS
        TRIMTAB_COLUMNS(0, 6, 12, 18, 28)
        TRIMTAB_COLUMNS(1, 7, 13, 19, 29)
        TRIMTAB_COLUMNS(2, 8, 14, 20, 30)
        TRIMTAB_COLUMNS(3, 9, 15, 21, 31)
        "ld1 {v28.16b, v29.16b}, [%[w]], #32\n"
        TRIMTAB_COLUMNS(4, 10, 16, 22, 28)
        TRIMTAB_COLUMNS(5, 11, 17, 23, 29)
        "4:\n"
        "subs %[taps], %[taps], #1\n"
        "b.ne 1b\n"
        TRIMTAB_STORE(0, 1, 2, 3) TRIMTAB_STORE(4, 5, 6, 7) TRIMTAB_STORE(8, 9, 10, 11)
        TRIMTAB_STORE(12, 13, 14, 15) TRIMTAB_STORE(16, 17, 18, 19) TRIMTAB_STORE(20, 21, 22, 23)
        : [w] "+r"(w), [tap] "+r"(tap), [taps] "+r"(taps), [sums] "+r"(sums), [n] "=&r"(n),
          [p0] "=&r"(p0), [p1] "=&r"(p1), [p2] "=&r"(p2), [p3] "=&r"(p3), [p4] "=&r"(p4),
          [p5] "=&r"(p5), [p6] "=&r"(p6), [p7] "=&r"(p7)
        : [k] "r"(block.k)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
  }
};

}  // namespace

extern "C" void gemm_i8_8x12c8_neoni8mm(const GemmArgs<int8_t>& args) {
  GemmBytes<MatrixTile>(args);
}
