// GEMM where a vector holds consecutive elements of a row of a, and each lane is multiplied with a
// vector of w.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_LANE_H_
#define TRIMTAB_KERNELS_ARM_GEMM_LANE_H_

#include "kernels/generic/gemm.h"

namespace {

#if defined(__aarch64__)
constexpr int kLanesOfA = 4;
using A = float32x4_t;
inline A LoadA(const float* p) { return vld1q_f32(p); }
template <int kLane>
inline F FmaLane(F sum, F b, A a) {
  return {vfmaq_laneq_f32(sum.v, b.v, a, kLane)};
}
#else
// Armv7 has no fused multiply-add by a lane, so it is a multiplication and an addition, in one
// instruction. Two elements at a time: 8 sums, 4 rows and 2 vectors of w are 14 of 16 registers.
constexpr int kLanesOfA = 2;
using A = float32x2_t;
inline A LoadA(const float* p) { return vld1_f32(p); }
template <int kLane>
inline F FmaLane(F sum, F b, A a) {
  return {vmlaq_lane_f32(sum.v, b.v, a, kLane)};
}
#endif

template <int kRowsPerTile, int kColumns>
struct LaneTile {
  static constexpr int kMr = kRowsPerTile, kNr = kColumns, kVectors = kColumns / kLanes;
  static constexpr int kNarrow = 0;
  // Half as many, so that code stays small: 5 rows of 8 are computed as 8.
  static constexpr int Smaller(int rows) { return rows / 2; }

  template <int kLane, int kRows>
  static inline void Step(const float* w, const A (&a)[kRows], F (&sums)[kRows][kVectors]) {
    F b[kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) b[v] = Load(w + kLane * kNr + v * kLanes);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[i][v] = FmaLane<kLane>(sums[i][v], b[v], a[i]);
    }
  }

  template <int kRows>
  static inline void Multiply(const GemmF32Args& args, const float* w, F (&sums)[kRows][kVectors]) {
    const float* const* rows = args.a;
    for (size_t t = 0; t < args.taps; ++t, rows += kMr) {
      const float* p[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) p[i] = rows[i];
      size_t left = args.k;
      for (; left >= kLanesOfA; left -= kLanesOfA) {
        A a[kRows];
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          a[i] = LoadA(p[i]);
          p[i] += kLanesOfA;
        }
        Step<0>(w, a, sums);
        Step<1>(w, a, sums);
        if constexpr (kLanesOfA == 4) {
          Step<2>(w, a, sums);
          Step<3>(w, a, sums);
        }
        w += kLanesOfA * kNr;
      }
      for (; left > 0; --left, w += kNr) {
        F b[kVectors];
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v) b[v] = Load(w + v * kLanes);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const F x = Set(*p[i]++);
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectors; ++v) sums[i][v] = Fma(x, b[v], sums[i][v]);
        }
      }
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_LANE_H_
