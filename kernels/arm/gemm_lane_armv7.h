// GEMM for Armv7: a vector holds consecutive elements of a row of a, and each lane is multiplied
// with a vector of w. Armv7 has no fused multiply-add by a lane: one instruction multiplies, rounds
// and adds.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV7_H_
#define TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV7_H_

#include "kernels/generic/gemm.h"

namespace {

struct LaneTile {
  static constexpr int kMr = 4, kNr = 8, kVectors = 2;
  static constexpr int kNarrow = 0;
  using Narrow = F;
  // Halves the rows, which keeps code small: 3 rows are computed as 4.
  static constexpr int Smaller(int rows, int) { return rows / 2; }

  // One tap of four rows: adds the products of `k` elements of each, and advances w past them. In
  // assembly, because it needs all 16 registers: q0-q3 hold four elements of each row of a, q4-q7
  // two rows of w, which one instruction loads, and the operands are the sums. 64 products take 14
  // other instructions; the compiler's code took 24, because it loads two elements and two vectors
  // at a time. Reads only memory that the kernel does not write, so memory is no operand.
  static inline void Tap(size_t k, const float* (&p)[4], const float*& w, F (&s)[4][2]) {
#define TRIMTAB_VMLA_LANE(b0, b1, a0, a1, a2, a3)                    \
  "vmla.f32 %q[s00], " b0 ", " a0 "\n vmla.f32 %q[s01], " b1 ", " a0 \
  "\n"                                                               \
  "vmla.f32 %q[s10], " b0 ", " a1 "\n vmla.f32 %q[s11], " b1 ", " a1 \
  "\n"                                                               \
  "vmla.f32 %q[s20], " b0 ", " a2 "\n vmla.f32 %q[s21], " b1 ", " a2 \
  "\n"                                                               \
  "vmla.f32 %q[s30], " b0 ", " a3 "\n vmla.f32 %q[s31], " b1 ", " a3 "\n"
#define TRIMTAB_DEPTH_2(d0, d1, d2, d3)                                 \
  TRIMTAB_VMLA_LANE("q4", "q5", d0 "[0]", d1 "[0]", d2 "[0]", d3 "[0]") \
  TRIMTAB_VMLA_LANE("q6", "q7", d0 "[1]", d1 "[1]", d2 "[1]", d3 "[1]")
#define TRIMTAB_DEPTH_4                           \
  "vldmia %[w]!, {d8-d15}\n"                      \
  "vld1.32 {d0, d1}, [%[p0]]!\n"                  \
  "vld1.32 {d2, d3}, [%[p1]]!\n"                  \
  "vld1.32 {d4, d5}, [%[p2]]!\n"                  \
  "vld1.32 {d6, d7}, [%[p3]]!\n" TRIMTAB_DEPTH_2( \
      "d0", "d2", "d4", "d6") "vldmia %[w]!, {d8-d15}\n" TRIMTAB_DEPTH_2("d1", "d3", "d5", "d7")
    size_t eights;
    __asm__(
        "lsrs %[eights], %[k], #3\n"
        "beq 2f\n"
        "1:\n"
        "subs %[eights], %[eights], #1\n"  // vector instructions do not change the flags
        TRIMTAB_DEPTH_4 TRIMTAB_DEPTH_4
        "bne 1b\n"
        "2:\n"
        "tst %[k], #7\n"
        "beq 5f\n"
        "tst %[k], #4\n"
        "beq 3f\n"
        TRIMTAB_DEPTH_4
        "3:\n"
        "tst %[k], #2\n"
        "beq 4f\n"
        "vldmia %[w]!, {d8-d15}\n"
        "vldmia %[p0]!, {d0}\n"
        "vldmia %[p1]!, {d2}\n"
        "vldmia %[p2]!, {d4}\n"
        "vldmia %[p3]!, {d6}\n"
        TRIMTAB_DEPTH_2("d0", "d2", "d4", "d6")
        "4:\n"
        "tst %[k], #1\n"
        "beq 5f\n"
        "vldmia %[w]!, {d8-d11}\n"
        "vldr s0, [%[p0]]\n"
        "vldr s4, [%[p1]]\n"
        "vldr s8, [%[p2]]\n"
        "vldr s12, [%[p3]]\n"
        TRIMTAB_VMLA_LANE("q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")
        "5:\n"
        : [s00] "+w"(s[0][0].v), [s01] "+w"(s[0][1].v), [s10] "+w"(s[1][0].v),
          [s11] "+w"(s[1][1].v), [s20] "+w"(s[2][0].v), [s21] "+w"(s[2][1].v),
          [s30] "+w"(s[3][0].v), [s31] "+w"(s[3][1].v), [p0] "+r"(p[0]), [p1] "+r"(p[1]),
          [p2] "+r"(p[2]), [p3] "+r"(p[3]), [w] "+r"(w), [eights] "=&r"(eights)
        : [k] "r"(k)
        : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc");
#undef TRIMTAB_VMLA_LANE
#undef TRIMTAB_DEPTH_2
#undef TRIMTAB_DEPTH_4
  }

  // The same for fewer rows, one element at a time.
  template <int kRows>
  static inline void Tap(size_t k, const float* (&p)[kRows], const float*& w, F (&sums)[kRows][2]) {
    for (; k > 0; --k, w += kNr) {
      const F b[2] = {Load(w), Load(w + kLanes)};
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const F x = Set(*p[i]++);
        sums[i][0] = Fma(x, b[0], sums[i][0]);
        sums[i][1] = Fma(x, b[1], sums[i][1]);
      }
    }
  }

  template <int kRows>
  static inline void Multiply(const GemmArgs<float>& args, const float* w, F (&sums)[kRows][2]) {
    const float* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const float* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      Tap(args.k, p, w, sums);
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_LANE_ARMV7_H_
