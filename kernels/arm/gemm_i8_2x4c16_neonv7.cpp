#include "kernels/arm/gemm_i8.h"
#include "kernels/arm/neon.h"
#include "kernels/generic/unroll.h"

namespace {

// Two products of int8 values fit 16 bits, because weights are greater than -128. 8 of 16 registers
// hold partial sums.
struct PairTile : RowsInPlace {
  static constexpr size_t kMr = 2, kNr = 4, kFewRows = 0;
  static void MultiplyFewRows(const Block&, Panel, size_t, int8_t*, size_t) {}

  // Rounding limits, before the zero point is added.
  struct RoundingLimits {
    float32x4_t low, high;
    int16x8_t zero_point;

    explicit RoundingLimits(const Block& block) : zero_point(block.zero_point) {
      const int16_t zero = vgetq_lane_s16(zero_point, 0);
      low = vdupq_n_f32(static_cast<float>(vgetq_lane_s8(block.low, 0) - zero));
      high = vdupq_n_f32(static_cast<float>(vgetq_lane_s8(block.high, 0) - zero));
    }

    int16x4_t Rounded(float32x4_t x) const { return vmovn_s32(RoundIntoLowBits(x, low, high)); }
  };

  static void Multiply(const Block& block, Panel panel, size_t count, int8_t* c, size_t c_stride) {
    const size_t width = block.epilogue == kDequantize ? kNr * sizeof(float) : kNr;
    const RoundingLimits limits(block);
    for (; count > 0; --count, c += width, panel.bias += kNr, panel.scale += kNr)
      panel.w = MultiplyPanel(block, panel, limits, c, c_stride);
  }

  // Returns the end of the weights.
  static inline const int8_t* MultiplyPanel(const Block& block, const Panel& panel,
                                            const RoundingLimits& limits, int8_t* c,
                                            size_t c_stride) {
    int32x4_t sums[kMr][kNr];
    TRIMTAB_UNROLL
    for (auto& row : sums) {
      TRIMTAB_UNROLL
      for (auto& sum : row) sum = vdupq_n_s32(0);
    }
    const int8_t* w = panel.w;
    for (const int8_t* const* tap = block.a; tap != block.end; tap += kMr) {
      const int8_t *first = tap[0], *second = tap[1];
      for (size_t n = block.k; n > 0; n -= 16, first += 16, second += 16) {
        const int8x16_t a[kMr] = {vld1q_s8(first), vld1q_s8(second)};
        TRIMTAB_UNROLL
        for (size_t j = 0; j < kNr; ++j, w += 16) {
          const int8x16_t b = vld1q_s8(w);
          TRIMTAB_UNROLL
          for (size_t i = 0; i < kMr; ++i) {
            const int16x8_t low = vmull_s8(vget_low_s8(a[i]), vget_low_s8(b));
            sums[i][j] =
                vpadalq_s16(sums[i][j], vmlal_s8(low, vget_high_s8(a[i]), vget_high_s8(b)));
          }
        }
      }
    }
    const int32x4_t bias = vld1q_s32(panel.bias);
    const float32x4_t scale = vld1q_f32(panel.scale);
    float32x4_t results[kMr];
    TRIMTAB_UNROLL
    for (size_t i = 0; i < kMr; ++i) {
      const int32x2_t first = vpadd_s32(AddHalves(sums[i][0]), AddHalves(sums[i][1]));
      const int32x2_t last = vpadd_s32(AddHalves(sums[i][2]), AddHalves(sums[i][3]));
      results[i] = vmulq_f32(vcvtq_f32_s32(vaddq_s32(vcombine_s32(first, last), bias)), scale);
    }
    if (block.epilogue == kDequantize) {
      vst1q_f32(reinterpret_cast<float*>(c), results[0]);
      vst1q_f32(reinterpret_cast<float*>(c + c_stride), results[1]);
      return w;
    }
    if (block.epilogue == kRequantizePrelu) {
      const auto slopes = reinterpret_cast<uintptr_t>(panel.scale + kNr) + block.slope;
      const float32x4_t slope = vld1q_f32(reinterpret_cast<const float*>(slopes));
      TRIMTAB_UNROLL
      for (auto& result : results) result = vmaxq_f32(result, vmulq_f32(result, slope));
    }
    const int16x8_t both = vcombine_s16(limits.Rounded(results[0]), limits.Rounded(results[1]));
    const int32x2_t packed = vreinterpret_s32_s8(vmovn_s16(vaddq_s16(both, limits.zero_point)));
    const int32_t rows[kMr] = {vget_lane_s32(packed, 0), vget_lane_s32(packed, 1)};
    memcpy(c, &rows[0], sizeof(rows[0]));
    memcpy(c + c_stride, &rows[1], sizeof(rows[1]));
    return w;
  }

  static inline int32x2_t AddHalves(int32x4_t x) {
    return vadd_s32(vget_low_s32(x), vget_high_s32(x));
  }
};

}  // namespace

extern "C" void gemm_i8_2x4c16_neonv7(const GemmArgs<int8_t>& args) { GemmI8<PairTile>(args); }
