// GEMM of transformed int8 tiles by lanes: a lane of a times 16 columns of w, for cores without dot
// products.
//
// A kernel supplies Lanes: Vector, kDepth elements of a row of a; Load and LoadOne; and
// Add<kLane>(a, w, sums), which adds a lane of each row's vector times a row of w.
#ifndef TRIMTAB_KERNELS_ARM_WINOGRAD_PRODUCT_I8_LANES_H_
#define TRIMTAB_KERNELS_ARM_WINOGRAD_PRODUCT_I8_LANES_H_

#include <arm_neon.h>

#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_product_i8.h"

namespace {

constexpr int kLaneVectors = 4;  // vectors of sums for 16 columns

template <class Lanes, int kMaxRows>
struct WinogradLaneTile {
  static constexpr int kMr = kMaxRows;
  static constexpr size_t kNr = 4 * kLaneVectors;

  template <int kLane, int kRows>
  static inline void AddFrom(const typename Lanes::Vector (&a)[kRows], const int16_t* w,
                             int32x4_t (&sums)[kRows][kLaneVectors]) {
    Lanes::template Add<kLane>(a, w, sums);
    if constexpr (kLane + 1 < Lanes::kDepth) AddFrom<kLane + 1>(a, w + kNr, sums);
  }

  template <int kRows>
  __attribute__((noinline)) static void Multiply(const WinogradProductArgs<int8_t>& args,
                                                 const int16_t* a, const int16_t* w, int32_t* c) {
    constexpr size_t kDepth = Lanes::kDepth;
    int32x4_t sums[kRows][kLaneVectors];
    const int16_t* rows[kRows];
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i, a += args.a_stride) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kLaneVectors; ++v) sums[i][v] = vdupq_n_s32(0);
      rows[i] = a;
    }
    typename Lanes::Vector x[kRows];
    for (size_t n = args.k / kDepth; n > 0; --n, w += kDepth * kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i, rows[i - 1] += kDepth) x[i] = Lanes::Load(rows[i]);
      AddFrom<0>(x, w, sums);
    }
    TRIMTAB_NO_UNROLL
    for (size_t n = args.k % kDepth; n > 0; --n, w += kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) x[i] = Lanes::LoadOne(rows[i]++);
      Lanes::template Add<0>(x, w, sums);
    }
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i, c += args.c_stride) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kLaneVectors; ++v) vst1q_s32(c + 4 * v, sums[i][v]);
    }
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_WINOGRAD_PRODUCT_I8_LANES_H_
