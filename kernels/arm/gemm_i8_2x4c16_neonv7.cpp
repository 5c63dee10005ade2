#include <arm_neon.h>

#include "kernels/arm/gemm_bytes.h"
#include "kernels/generic/unroll.h"

namespace {

// Two products of bytes fit 16 bits, as weights are above -128. 8 of 16 registers hold parts of sums.
struct PairTile : RowsInPlace {
  static constexpr size_t kMr = 2, kNr = 4, kFew = 0;
  static void MultiplyFew(const Block&, Panel, size_t, int8_t*, size_t) {}

  static void Multiply(const Block& block, Panel panel, size_t count, int8_t* c, size_t c_stride) {
    const size_t width = block.is_real != 0 ? kNr * sizeof(float) : kNr;
    for (; count > 0; --count, c += width, panel.bias += kNr, panel.scale += kNr)
      panel.w = MultiplyOne(block, panel, c, c_stride);
  }

  // The end of its weights.
  static inline const int8_t* MultiplyOne(const Block& block, const Panel& panel, int8_t* c,
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
    TRIMTAB_UNROLL
    for (size_t i = 0; i < kMr; ++i) {
      const int32x2_t first = vpadd_s32(Half(sums[i][0]), Half(sums[i][1]));
      const int32x2_t last = vpadd_s32(Half(sums[i][2]), Half(sums[i][3]));
      const int32x4_t sum = vaddq_s32(vcombine_s32(first, last), bias);
      Store(block, vmulq_f32(vcvtq_f32_s32(sum), scale), c + i * c_stride);
    }
    return w;
  }

  static inline int32x2_t Half(int32x4_t x) { return vadd_s32(vget_low_s32(x), vget_high_s32(x)); }

  // Rounded as by RoundBetween of kernels/generic/rounding.h, or as they are.
  static inline void Store(const Block& block, float32x4_t x, int8_t* c) {
    if (block.is_real != 0) return vst1q_f32(reinterpret_cast<float*>(c), x);
    const int32_t zero_point = vgetq_lane_s16(block.zero_point, 0);
    const int32_t low = vgetq_lane_s8(block.low, 0), high = vgetq_lane_s8(block.high, 0);
    x = vmaxq_f32(x, vdupq_n_f32(static_cast<float>(low - zero_point)));
    x = vminq_f32(x, vdupq_n_f32(static_cast<float>(high - zero_point)));
    const int32x4_t bits = vreinterpretq_s32_f32(vaddq_f32(x, vdupq_n_f32(0x1.8p23f)));
    const int32x4_t y = vaddq_s32(bits, vdupq_n_s32(zero_point - 0x4b400000));
    const int16x4_t half = vmovn_s32(y);
    const int8x8_t bytes = vmovn_s16(vcombine_s16(half, half));
    const int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    memcpy(c, &four, sizeof(four));
  }
};

}  // namespace

extern "C" void gemm_i8_2x4c16_neonv7(const GemmArgs<int8_t>& args) { GemmBytes<PairTile>(args); }
