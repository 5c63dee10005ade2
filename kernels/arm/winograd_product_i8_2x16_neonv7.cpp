#include "kernels/arm/winograd_product_i8_lanes.h"

namespace {

// 8 of 16 registers hold sums.
struct FourLanes {
  using Vector = int16x4_t;
  static constexpr int kDepth = 4;
  static inline Vector Load(const int16_t* p) { return vld1_s16(p); }
  static inline Vector LoadOne(const int16_t* p) { return vld1_dup_s16(p); }

  template <int kLane, int kRows>
  static inline void Add(const Vector (&a)[kRows], const int16_t* w,
                         int32x4_t (&sums)[kRows][kLaneVectors]) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kLaneVectors; ++v) {
      const int16x4_t columns = vld1_s16(w + 4 * v);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v] = vmlal_lane_s16(sums[i][v], columns, a[i], kLane);
    }
  }
};

}  // namespace

extern "C" void winograd_product_i8_2x16_neonv7(const WinogradProductArgs<int8_t>& args) {
  WinogradProduct<WinogradLaneTile<FourLanes, 2>>(args);
}
