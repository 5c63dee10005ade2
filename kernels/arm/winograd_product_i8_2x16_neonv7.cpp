#include <arm_neon.h>

#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_products.h"

namespace {

// A lane of a times 16 columns: 8 of 16 registers hold sums.
struct LaneTile {
  static constexpr int kMr = 2, kVectors = 4;
  static constexpr size_t kNr = 16;

  // An element of the depth: that of each row of a times a row of w.
  template <int kLane, int kRows>
  static inline void Add(const int16x4_t (&a)[kRows], const int16_t* w,
                         int32x4_t (&sums)[kRows][kVectors]) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const int16x4_t columns = vld1_s16(w + 4 * v);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v] = vmlal_lane_s16(sums[i][v], columns, a[i], kLane);
    }
  }

  template <int kRows>
  __attribute__((noinline)) static void Multiply(const WinogradProductArgs<int8_t>& args,
                                                 const int16_t* a, const int16_t* w, int32_t* c) {
    int32x4_t sums[kRows][kVectors];
    TRIMTAB_UNROLL
    for (auto& row : sums) {
      TRIMTAB_UNROLL
      for (auto& sum : row) sum = vdupq_n_s32(0);
    }
    int16x4_t x[kRows];
    for (size_t n = args.k / 4; n > 0; --n, a += 4, w += 4 * kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) x[i] = vld1_s16(a + i * args.a_stride);
      Add<0>(x, w, sums);
      Add<1>(x, w + kNr, sums);
      Add<2>(x, w + 2 * kNr, sums);
      Add<3>(x, w + 3 * kNr, sums);
    }
    TRIMTAB_NO_UNROLL
    for (size_t n = args.k % 4; n > 0; --n, ++a, w += kNr) {
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) x[i] = vld1_dup_s16(a + i * args.a_stride);
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

extern "C" void winograd_product_i8_2x16_neonv7(const WinogradProductArgs<int8_t>& args) {
  WinogradProducts<LaneTile>(args);
}
