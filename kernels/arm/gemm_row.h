// GEMM of armv8 where a vector holds consecutive elements of a row of a, and each lane is
// multiplied with the vectors of a row of w, which one instruction loads all at once.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_ROW_H_
#define TRIMTAB_KERNELS_ARM_GEMM_ROW_H_

#include "kernels/generic/gemm.h"

namespace {

struct RowTile {
  static constexpr int kMr = 4, kNr = 16, kVectors = 4;
  static constexpr int kNarrow = 2;  // 24 columns are common
  static constexpr int Smaller(int rows) { return rows / 2; }

  // Keeps the compiler from turning steps of a pointer into sums with a base, which cost an
  // instruction each where a load advances its pointer for nothing.
  static inline void Advance(const float*& p, size_t count) {
    p += count;
    __asm__("" : "+r"(p));
  }

  // Eight elements of a row of a. The compiler would not advance the pointer in the same
  // instruction. Nothing that the kernel writes is read here, so memory is no operand.
  static inline void LoadEight(const float*& p, float32x4_t* low, float32x4_t* high) {
    __asm__("ldp %q0, %q1, [%2], #32" : "=w"(*low), "=w"(*high), "+r"(p));
  }

  // A row of w, as many vectors of it as are used.
  static inline void LoadRow(const float*& w, F (&b)[4]) {
    const float32x4x4_t row = vld1q_f32_x4(w);
    Advance(w, kNr);
    TRIMTAB_UNROLL
    for (int v = 0; v < 4; ++v) b[v].v = row.val[v];
  }
  static inline void LoadRow(const float*& w, F (&b)[2]) {
    const float32x4x2_t row = vld1q_f32_x2(w);
    Advance(w, kNr);
    b[0].v = row.val[0];
    b[1].v = row.val[1];
  }

  template <int kLane, int kRows, int kUsed>
  static inline void Step(const float*& w, const float32x4_t (&a)[kRows], F (&sums)[kRows][kUsed]) {
    F b[kUsed];
    LoadRow(w, b);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kUsed; ++v)
        sums[i][v].v = vfmaq_laneq_f32(sums[i][v].v, b[v].v, a[i], kLane);
    }
  }

#if defined(__clang__)  // GCC takes at most 30 operands, and reads and writes 22 here: it gets the
                        // code below
  // `eights` > 0 times eight elements of four rows by eight rows of w. In assembly, as it needs all
  // 32 registers: scheduled for an out-of-order core, the compiler's code spills and takes 219
  // instructions instead of 142. A row of w is loaded while the one before it is multiplied. Reads
  // only what the kernel does not write, so memory is no operand.
  static inline void Eights(size_t eights, const float* (&p)[4], const float*& w, F (&s)[4][4]) {
#define TRIMTAB_ROW(i, b0, b1, b2, b3, a)                                            \
  "fmla %[s" #i "0].4s, v" #b0 ".4s, v" a "\n fmla %[s" #i "1].4s, v" #b1 ".4s, v" a \
  "\n"                                                                               \
  "fmla %[s" #i "2].4s, v" #b2 ".4s, v" a "\n fmla %[s" #i "3].4s, v" #b3 ".4s, v" a "\n"
#define TRIMTAB_EVEN(a0, a1, a2, a3) \
  TRIMTAB_ROW(0, 24, 25, 26, 27, a0) \
  TRIMTAB_ROW(1, 24, 25, 26, 27, a1) \
  TRIMTAB_ROW(2, 24, 25, 26, 27, a2) TRIMTAB_ROW(3, 24, 25, 26, 27, a3)
#define TRIMTAB_ODD(a0, a1, a2, a3)  \
  TRIMTAB_ROW(0, 28, 29, 30, 31, a0) \
  TRIMTAB_ROW(1, 28, 29, 30, 31, a1) \
  TRIMTAB_ROW(2, 28, 29, 30, 31, a2) TRIMTAB_ROW(3, 28, 29, 30, 31, a3)
#define TRIMTAB_LOAD_EVEN "ld1 {v24.4s, v25.4s, v26.4s, v27.4s}, [%[w]], #64\n"
#define TRIMTAB_LOAD_ODD "ld1 {v28.4s, v29.4s, v30.4s, v31.4s}, [%[w]], #64\n"
    __asm__(
        "1:\n" TRIMTAB_LOAD_EVEN
        "ldp q16, q20, [%[p0]], #32\n"
        "ldp q17, q21, [%[p1]], #32\n"
        "ldp q18, q22, [%[p2]], #32\n"
        "ldp q19, q23, [%[p3]], #32\n"
        "subs %[n], %[n], #1\n" TRIMTAB_LOAD_ODD TRIMTAB_EVEN(
            "16.s[0]", "17.s[0]", "18.s[0]",
            "19.s[0]") TRIMTAB_LOAD_EVEN TRIMTAB_ODD("16.s[1]", "17.s[1]", "18.s[1]", "19.s[1]")
            TRIMTAB_LOAD_ODD TRIMTAB_EVEN("16.s[2]", "17.s[2]", "18.s[2]", "19.s[2]")
                TRIMTAB_LOAD_EVEN TRIMTAB_ODD("16.s[3]", "17.s[3]", "18.s[3]", "19.s[3]")
                    TRIMTAB_LOAD_ODD TRIMTAB_EVEN("20.s[0]", "21.s[0]", "22.s[0]", "23.s[0]")
                        TRIMTAB_LOAD_EVEN TRIMTAB_ODD("20.s[1]", "21.s[1]", "22.s[1]", "23.s[1]")
                            TRIMTAB_LOAD_ODD TRIMTAB_EVEN("20.s[2]", "21.s[2]", "22.s[2]",
                                                          "23.s[2]")
                                TRIMTAB_ODD("20.s[3]", "21.s[3]", "22.s[3]", "23.s[3]") "b.ne 1b\n"
        :
        [s00] "+w"(s[0][0].v), [s01] "+w"(s[0][1].v), [s02] "+w"(s[0][2].v), [s03] "+w"(s[0][3].v),
        [s10] "+w"(s[1][0].v), [s11] "+w"(s[1][1].v), [s12] "+w"(s[1][2].v), [s13] "+w"(s[1][3].v),
        [s20] "+w"(s[2][0].v), [s21] "+w"(s[2][1].v), [s22] "+w"(s[2][2].v), [s23] "+w"(s[2][3].v),
        [s30] "+w"(s[3][0].v), [s31] "+w"(s[3][1].v), [s32] "+w"(s[3][2].v), [s33] "+w"(s[3][3].v),
        [p0] "+r"(p[0]), [p1] "+r"(p[1]), [p2] "+r"(p[2]), [p3] "+r"(p[3]), [w] "+r"(w),
        [n] "+r"(eights)
        :
        : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
          "v29", "v30", "v31", "cc");
#undef TRIMTAB_ROW
#undef TRIMTAB_EVEN
#undef TRIMTAB_ODD
#undef TRIMTAB_LOAD_EVEN
#undef TRIMTAB_LOAD_ODD
  }
#endif

  // The same for smaller variants, where the compiler has registers to spare.
  template <int kRows, int kUsed>
  static inline void Eights(size_t eights, const float* (&p)[kRows], const float*& w,
                            F (&sums)[kRows][kUsed]) {
    for (; eights > 0; --eights) {
      float32x4_t low[kRows], high[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) LoadEight(p[i], &low[i], &high[i]);
      Step<0>(w, low, sums);
      Step<1>(w, low, sums);
      Step<2>(w, low, sums);
      Step<3>(w, low, sums);
      Step<0>(w, high, sums);
      Step<1>(w, high, sums);
      Step<2>(w, high, sums);
      Step<3>(w, high, sums);
    }
  }

  template <int kRows, int kUsed>
  static inline void Multiply(const GemmF32Args& args, const float* w, F (&sums)[kRows][kUsed]) {
    const float* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const float* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      if (args.k >= 8) Eights(args.k / 8, p, w, sums);
      for (size_t left = args.k % 8; left > 0; --left) {
        F b[kUsed];
        LoadRow(w, b);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const F x = Set(*p[i]++);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_ROW_H_
