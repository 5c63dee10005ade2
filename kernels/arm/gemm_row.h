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

  template <int kRows, int kUsed>
  static inline void Multiply(const GemmF32Args& args, const float* w, F (&sums)[kRows][kUsed]) {
    const float* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const float* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      for (size_t eights = args.k / 8; eights > 0; --eights) {
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
