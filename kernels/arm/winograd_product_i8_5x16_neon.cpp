#include <arm_neon.h>

#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_products.h"

namespace {

// A lane of a times 16 columns: 20 sums, 5 vectors of a, 2 or more of w; in eight of the depth 160
// products with 13 loads.
struct LaneTile {
  static constexpr int kMr = 5, kVectors = 4;
  static constexpr size_t kNr = 16;

  // An element of the depth: that of each row of a times a row of w.
  template <int kLane, int kRows>
  static inline void Add(const int16x8_t (&a)[kRows], const int16_t* w,
                         int32x4_t (&sums)[kRows][kVectors]) {
    const int16x8_t left = vld1q_s16(w), right = vld1q_s16(w + 8);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = vmlal_laneq_s16(sums[i][0], vget_low_s16(left), a[i], kLane);
      sums[i][1] = vmlal_high_laneq_s16(sums[i][1], left, a[i], kLane);
      sums[i][2] = vmlal_laneq_s16(sums[i][2], vget_low_s16(right), a[i], kLane);
      sums[i][3] = vmlal_high_laneq_s16(sums[i][3], right, a[i], kLane);
    }
  }

  template <int kRows>
  __attribute__((noinline)) static void Multiply(const WinogradProductArgs<int8_t>& args,
                                                 const int16_t* a, const int16_t* w, int32_t* c) {
    int32x4_t sums[kRows][kVectors];
    const int16_t* rows[kRows];
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i, a += args.a_stride) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[i][v] = vdupq_n_s32(0);
      rows[i] = a;
    }
    int16x8_t x[kRows];
    for (size_t n = args.k / 8; n > 0; --n, w += 8 * kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i, rows[i - 1] += 8) x[i] = vld1q_s16(rows[i]);
      Add<0>(x, w, sums);
      Add<1>(x, w + kNr, sums);
      Add<2>(x, w + 2 * kNr, sums);
      Add<3>(x, w + 3 * kNr, sums);
      Add<4>(x, w + 4 * kNr, sums);
      Add<5>(x, w + 5 * kNr, sums);
      Add<6>(x, w + 6 * kNr, sums);
      Add<7>(x, w + 7 * kNr, sums);
    }
    TRIMTAB_NO_UNROLL
    for (size_t n = args.k % 8; n > 0; --n, w += kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) x[i] = vld1q_dup_s16(rows[i]++);
      Add<0>(x, w, sums);
    }
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i, c += args.c_stride) {
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) vst1q_s32(c + 4 * v, sums[i][v]);
    }
  }
};

}  // namespace

extern "C" void winograd_product_i8_5x16_neon(const WinogradProductArgs<int8_t>& args) {
  WinogradProducts<LaneTile>(args);
}
