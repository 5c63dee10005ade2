#include "kernels/arm/gemm_bytes.h"

namespace {

// Two products of bytes fit 16 bits, as weights are above -128. Rows are v16 to v19, columns v20 to
// v23, sums of row i and column j in v(4 i + j), products in passing in v24 to v31.
#define TRIMTAB_LOW(t, a, b) "smull v" #t ".8h, v" #a ".8b, v" #b ".8b\n"
#define TRIMTAB_HIGH(t, a, b) "smlal2 v" #t ".8h, v" #a ".16b, v" #b ".16b\n"
#define TRIMTAB_ADD(s, t) "sadalp v" #s ".4s, v" #t ".8h\n"
#define TRIMTAB_LOWS(t0, t1, t2, t3, a) \
  TRIMTAB_LOW(t0, a, 20) TRIMTAB_LOW(t1, a, 21) TRIMTAB_LOW(t2, a, 22) TRIMTAB_LOW(t3, a, 23)
#define TRIMTAB_HIGHS(t0, t1, t2, t3, a) \
  TRIMTAB_HIGH(t0, a, 20) TRIMTAB_HIGH(t1, a, 21) TRIMTAB_HIGH(t2, a, 22) TRIMTAB_HIGH(t3, a, 23)
#define TRIMTAB_ADDS(s0, s1, s2, s3, t0, t1, t2, t3) \
  TRIMTAB_ADD(s0, t0) TRIMTAB_ADD(s1, t1) TRIMTAB_ADD(s2, t2) TRIMTAB_ADD(s3, t3)
// Of four vectors, each the parts of one sum, the four sums.
#define TRIMTAB_TOGETHER(s0, s1, s2, s3) \
  "addp v" #s0 ".4s, v" #s0 ".4s, v" #s1 \
  ".4s\n"                                \
  "addp v" #s2 ".4s, v" #s2 ".4s, v" #s3 \
  ".4s\n"                                \
  "addp v" #s0 ".4s, v" #s0 ".4s, v" #s2 \
  ".4s\n"                                \
  "add v" #s0 ".4s, v" #s0 ".4s, v20.4s\n" TRIMTAB_ROUND(s0, 21)
#define TRIMTAB_ZERO(s) "movi v" #s ".4s, #0\n"

struct WideTile {
  static constexpr size_t kMr = 4, kNr = 4, kFew = 0;
  static void MultiplyFew(const Block&, const Panel&, int8_t*, size_t) {}

  static inline void Multiply(const Block& block, const Panel& panel, int8_t* c, size_t c_stride) {
    const int8_t *w = panel.w, *p0, *p1, *p2, *p3;
    const int8_t* const* tap = block.a;
    size_t taps = block.taps, n;
    __asm__ volatile(
        TRIMTAB_ZERO(0) TRIMTAB_ZERO(1) TRIMTAB_ZERO(2) TRIMTAB_ZERO(3)
        TRIMTAB_ZERO(4) TRIMTAB_ZERO(5) TRIMTAB_ZERO(6) TRIMTAB_ZERO(7)
        TRIMTAB_ZERO(8) TRIMTAB_ZERO(9) TRIMTAB_ZERO(10) TRIMTAB_ZERO(11)
        TRIMTAB_ZERO(12) TRIMTAB_ZERO(13) TRIMTAB_ZERO(14) TRIMTAB_ZERO(15)
        "1:\n"  // a tap
        TRIMTAB_NEXT_TAP
        "lsr %[n], %[k], #4\n"
        "2:\n"
        "ld1 {v20.16b, v21.16b, v22.16b, v23.16b}, [%[w]], #64\n"
        "ldr q16, [%[p0]], #16\n"
        "ldr q17, [%[p1]], #16\n"
        "ldr q18, [%[p2]], #16\n"
        "ldr q19, [%[p3]], #16\n"
        "subs %[n], %[n], #1\n"
        TRIMTAB_LOWS(24, 25, 26, 27, 16)
        TRIMTAB_LOWS(28, 29, 30, 31, 17)
        TRIMTAB_HIGHS(24, 25, 26, 27, 16)
        TRIMTAB_HIGHS(28, 29, 30, 31, 17)
        TRIMTAB_ADDS(0, 1, 2, 3, 24, 25, 26, 27)
        TRIMTAB_LOWS(24, 25, 26, 27, 18)
        TRIMTAB_ADDS(4, 5, 6, 7, 28, 29, 30, 31)
        TRIMTAB_LOWS(28, 29, 30, 31, 19)
        TRIMTAB_HIGHS(24, 25, 26, 27, 18)
        TRIMTAB_HIGHS(28, 29, 30, 31, 19)
        TRIMTAB_ADDS(8, 9, 10, 11, 24, 25, 26, 27)
        TRIMTAB_ADDS(12, 13, 14, 15, 28, 29, 30, 31)
        "b.ne 2b\n"
        "subs %[taps], %[taps], #1\n"
        "b.ne 1b\n"

        "ldr q20, [%[bias]]\n"
        "ldr q21, [%[scale]]\n"
        TRIMTAB_BLOCK_RESULTS(22, 23, 24)
        TRIMTAB_TOGETHER(0, 1, 2, 3)
        TRIMTAB_TOGETHER(4, 5, 6, 7)
        TRIMTAB_TOGETHER(8, 9, 10, 11)
        TRIMTAB_TOGETHER(12, 13, 14, 15)
        TRIMTAB_NARROW(0, 4, 8, 12, 22)
        TRIMTAB_CLAMP(0, 23, 24)
        "str s0, [%[p0]]\n"
        "st1 {v0.s}[1], [%[p1]]\n"
        "st1 {v0.s}[2], [%[p2]]\n"
        "st1 {v0.s}[3], [%[p3]]\n"
        : TRIMTAB_BLOCK_OUTPUTS
        : TRIMTAB_BLOCK_INPUTS
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
  }
};

}  // namespace

extern "C" void gemm_i8_4x4c16_neon(const GemmArgs<int8_t>& args) { GemmBytes<WideTile>(args); }
