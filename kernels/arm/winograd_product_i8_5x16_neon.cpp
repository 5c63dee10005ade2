#include "kernels/arm/winograd_product_i8_lanes.h"

namespace {

// 20 sums, 5 vectors of a, at least 2 of w; 160 products with 13 loads per eight elements of the
// depth.
struct EightLanes {
  using Vector = int16x8_t;
  static constexpr int kDepth = 8;
  static inline Vector Load(const int16_t* p) { return vld1q_s16(p); }
  static inline Vector LoadOne(const int16_t* p) { return vld1q_dup_s16(p); }

  template <int kLane, int kRows>
  static inline void Add(const Vector (&a)[kRows], const int16_t* w,
                         int32x4_t (&sums)[kRows][kLaneVectors]) {
    const int16x8_t left = vld1q_s16(w), right = vld1q_s16(w + 8);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = vmlal_laneq_s16(sums[i][0], vget_low_s16(left), a[i], kLane);
      sums[i][1] = vmlal_high_laneq_s16(sums[i][1], left, a[i], kLane);
      sums[i][2] = vmlal_laneq_s16(sums[i][2], vget_low_s16(right), a[i], kLane);
      sums[i][3] = vmlal_high_laneq_s16(sums[i][3], right, a[i], kLane);
    }
  }
};

}  // namespace

extern "C" void winograd_product_i8_5x16_neon(const WinogradProductArgs<int8_t>& args) {
  WinogradProduct<WinogradLaneTile<EightLanes, 5>>(args);
}
