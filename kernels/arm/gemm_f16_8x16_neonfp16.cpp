#include "kernels/arm/vec_neonfp16.h"

#include "kernels/generic/gemm.h"

namespace {

// As gemm_row.h, in f16: a vector holds eight elements of a row of a, and each lane is multiplied
// with the two vectors of a row of w. 16 sums, 8 vectors of a, and two times two rows of w that one
// instruction loads: all 32 registers. 16 sums are as many as four pipes of latency 4 need
// (Neoverse V1). A lane of 16 bits can be taken of v0 to v15 alone, so these hold a and w.
struct HalfTile {
  static constexpr int kMr = 8, kNr = 16, kVectors = 2;
  static constexpr int kNarrow = 1;
  using Narrow = F;
  // A sum that products are added to one after the other gathers errors as it grows: after so many
  // eights of the depth it is put aside. Blocked summation: Higham 2002, section 4.2.
  static constexpr size_t kBlock = 64 / 8;
  // 5 to 7 rows are computed as 8, 3 as 4; those of a narrow panel as 8 or 2.
  static constexpr int Smaller(int rows, int vectors) {
    return vectors == kVectors ? rows / 2 : rows > 2 ? 2 : 0;
  }

  template <int kLane, int kRows, int kUsed>
  static inline void Step(const Half*& w, const float16x8_t (&a)[kRows], F (&sums)[kRows][kUsed]) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const F b = Load(w + v * kLanes);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        sums[i][v].v = vfmaq_laneq_f16(sums[i][v].v, b.v, a[i], kLane);
      }
    }
    ::Step(w, kNr);
  }

  // Turns of eight elements of every row by eight rows of w.
  template <int kRows, int kUsed>
  static inline void Eights(size_t eights, const Half* (&p)[kRows], const Half*& w,
                            F (&sums)[kRows][kUsed]) {
    TRIMTAB_NO_UNROLL
    for (; eights > 0; --eights) {
      float16x8_t a[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        a[i] = Load(p[i]).v;
        ::Step(p[i], 8);
      }
      Step<0>(w, a, sums);
      Step<1>(w, a, sums);
      Step<2>(w, a, sums);
      Step<3>(w, a, sums);
      Step<4>(w, a, sums);
      Step<5>(w, a, sums);
      Step<6>(w, a, sums);
      Step<7>(w, a, sums);
    }
  }

  template <int kRows, int kUsed>
  static inline void AddAside(const Half* aside, F (&sums)[kRows][kUsed]) {
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows * kUsed; ++i) {
      F& sum = sums[i / kUsed][i % kUsed];
      sum = sum + Load(aside + i * kLanes);
    }
  }

  // Begins new sums; those of before are at `aside`, if it is used.
  template <int kRows, int kUsed>
  static inline void PutAside(bool is_used, Half* aside, F (&sums)[kRows][kUsed]) {
    if (is_used) AddAside(aside, sums);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows * kUsed; ++i) {
      F& sum = sums[i / kUsed][i % kUsed];
      Store(aside + i * kLanes, sum);
      sum = Set(0.0f);
    }
  }

  template <int kRows, int kUsed>
  static inline void Multiply(const GemmArgs<Half>& args, const Half* w, F (&sums)[kRows][kUsed]) {
    const Half* const* rows = args.a;
    Half memory[kRows * kUsed * kLanes];
    Half* aside = memory;
    __asm__("" : "+r"(aside));  // else the compiler finds registers for it, which the sums need
    bool is_used = false;
    size_t room = kBlock;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const Half* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      for (size_t eights = args.k / 8; eights > 0;) {
        if (room == 0) {
          PutAside(is_used, aside, sums);
          is_used = true;
          room = kBlock;
        }
        const size_t some = eights < room ? eights : room;
        Eights(some, p, w, sums);
        eights -= some;
        room -= some;
      }
      TRIMTAB_NO_UNROLL
      for (size_t left = args.k % 8; left > 0; --left) {
        F b[kUsed];
        TRIMTAB_UNROLL
        for (int v = 0; v < kUsed; ++v) b[v] = Load(w + v * kLanes);
        ::Step(w, kNr);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const F x = {vreinterpretq_f16_u16(vld1q_dup_u16(&p[i]->bits))};
          ::Step(p[i], 1);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
    if (is_used) AddAside(aside, sums);
  }
};

// clang-format off
#define TRIMTAB_HALF_FMLA(s, b, a, lane) "fmla v" #s ".8h, v" #b ".8h, v" #a ".h[" #lane "]\n"
// Element `lane` of every row of a (v0 to v7) by a row of w in b0, b1.
#define TRIMTAB_HALF_ROWS(b0, b1, lane)                                 \
  TRIMTAB_HALF_FMLA(16, b0, 0, lane) TRIMTAB_HALF_FMLA(17, b1, 0, lane) \
  TRIMTAB_HALF_FMLA(18, b0, 1, lane) TRIMTAB_HALF_FMLA(19, b1, 1, lane) \
  TRIMTAB_HALF_FMLA(20, b0, 2, lane) TRIMTAB_HALF_FMLA(21, b1, 2, lane) \
  TRIMTAB_HALF_FMLA(22, b0, 3, lane) TRIMTAB_HALF_FMLA(23, b1, 3, lane) \
  TRIMTAB_HALF_FMLA(24, b0, 4, lane) TRIMTAB_HALF_FMLA(25, b1, 4, lane) \
  TRIMTAB_HALF_FMLA(26, b0, 5, lane) TRIMTAB_HALF_FMLA(27, b1, 5, lane) \
  TRIMTAB_HALF_FMLA(28, b0, 6, lane) TRIMTAB_HALF_FMLA(29, b1, 6, lane) \
  TRIMTAB_HALF_FMLA(30, b0, 7, lane) TRIMTAB_HALF_FMLA(31, b1, 7, lane)
// clang-format on
#define TRIMTAB_HALF_EVEN "ld1 {v8.8h, v9.8h, v10.8h, v11.8h}, [%[w]], #64\n"
#define TRIMTAB_HALF_ODD "ld1 {v12.8h, v13.8h, v14.8h, v15.8h}, [%[w]], #64\n"

// A whole tile: the compiler would spill, and spend instructions on pointers. 140 instructions for
// 1024 products.
template <>
inline void HalfTile::Eights<8, 2>(size_t eights, const Half* (&p)[8], const Half*& w,
                                   F (&sums)[8][2]) {
  register float16x8_t s0 __asm__("v16") = sums[0][0].v;
  register float16x8_t s1 __asm__("v17") = sums[0][1].v;
  register float16x8_t s2 __asm__("v18") = sums[1][0].v;
  register float16x8_t s3 __asm__("v19") = sums[1][1].v;
  register float16x8_t s4 __asm__("v20") = sums[2][0].v;
  register float16x8_t s5 __asm__("v21") = sums[2][1].v;
  register float16x8_t s6 __asm__("v22") = sums[3][0].v;
  register float16x8_t s7 __asm__("v23") = sums[3][1].v;
  register float16x8_t s8 __asm__("v24") = sums[4][0].v;
  register float16x8_t s9 __asm__("v25") = sums[4][1].v;
  register float16x8_t s10 __asm__("v26") = sums[5][0].v;
  register float16x8_t s11 __asm__("v27") = sums[5][1].v;
  register float16x8_t s12 __asm__("v28") = sums[6][0].v;
  register float16x8_t s13 __asm__("v29") = sums[6][1].v;
  register float16x8_t s14 __asm__("v30") = sums[7][0].v;
  register float16x8_t s15 __asm__("v31") = sums[7][1].v;
  // clang-format off
  __asm__ volatile(
      "1:\n"
      TRIMTAB_HALF_EVEN
      "ldr q0, [%[p0]], #16\n"
      "ldr q1, [%[p1]], #16\n"
      "ldr q2, [%[p2]], #16\n"
      "ldr q3, [%[p3]], #16\n"
      "ldr q4, [%[p4]], #16\n"
      "ldr q5, [%[p5]], #16\n"
      "ldr q6, [%[p6]], #16\n"
      "ldr q7, [%[p7]], #16\n"
      "subs %[n], %[n], #1\n"
      TRIMTAB_HALF_ODD TRIMTAB_HALF_ROWS(8, 9, 0) TRIMTAB_HALF_ROWS(10, 11, 1)
      TRIMTAB_HALF_EVEN TRIMTAB_HALF_ROWS(12, 13, 2) TRIMTAB_HALF_ROWS(14, 15, 3)
      TRIMTAB_HALF_ODD TRIMTAB_HALF_ROWS(8, 9, 4) TRIMTAB_HALF_ROWS(10, 11, 5)
      TRIMTAB_HALF_ROWS(12, 13, 6) TRIMTAB_HALF_ROWS(14, 15, 7)
      "b.ne 1b\n"
      : [n] "+r"(eights), [w] "+r"(w), [p0] "+r"(p[0]), [p1] "+r"(p[1]), [p2] "+r"(p[2]),
        [p3] "+r"(p[3]), [p4] "+r"(p[4]), [p5] "+r"(p[5]), [p6] "+r"(p[6]), [p7] "+r"(p[7]),
        "+w"(s0), "+w"(s1), "+w"(s2), "+w"(s3), "+w"(s4), "+w"(s5), "+w"(s6), "+w"(s7), "+w"(s8),
        "+w"(s9), "+w"(s10), "+w"(s11), "+w"(s12), "+w"(s13), "+w"(s14), "+w"(s15)
      :
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "cc", "memory");
  // clang-format on
  sums[0][0].v = s0;
  sums[0][1].v = s1;
  sums[1][0].v = s2;
  sums[1][1].v = s3;
  sums[2][0].v = s4;
  sums[2][1].v = s5;
  sums[3][0].v = s6;
  sums[3][1].v = s7;
  sums[4][0].v = s8;
  sums[4][1].v = s9;
  sums[5][0].v = s10;
  sums[5][1].v = s11;
  sums[6][0].v = s12;
  sums[6][1].v = s13;
  sums[7][0].v = s14;
  sums[7][1].v = s15;
}

template <>
constexpr bool kFinishesWhole<HalfTile> = true;

}  // namespace

extern "C" void gemm_f16_8x16_neonfp16(const GemmArgs<Half>& args) { Gemm<HalfTile>(args); }
