#include "kernels/arm/requantize.h"
#include "kernels/generic/unroll.h"

namespace {

// The sum of this many int8 values fits 16 bits.
constexpr size_t kMaxSummands = 256;

inline void Mean(const QlinearMeanArgs<int8_t>& args, size_t c, const Limits& limits) {
  int32x4_t sums[4];
  TRIMTAB_UNROLL
  for (int i = 0; i < 4; ++i) sums[i] = vld1q_s32(args.start + c + 4 * i);
  const int8_t* x = args.x + c;
  for (size_t left = args.pixels; left > 0;) {
    const size_t count = left < kMaxSummands ? left : kMaxSummands;
    left -= count;
    int16x8_t low = vdupq_n_s16(0), high = low;
    for (size_t i = count; i > 0; --i, x += args.x_stride) {
      const int8x16_t pixel = vld1q_s8(x);
      low = vaddw_s8(low, vget_low_s8(pixel));
      high = vaddw_high_s8(high, pixel);
    }
    sums[0] = vaddw_s16(sums[0], vget_low_s16(low));
    sums[1] = vaddw_high_s16(sums[1], low);
    sums[2] = vaddw_s16(sums[2], vget_low_s16(high));
    sums[3] = vaddw_high_s16(sums[3], high);
  }
  if (args.sums != nullptr) {
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_s32(args.sums + c + 4 * i, sums[i]);
    return;
  }
  TRIMTAB_UNROLL
  for (int i = 0; i < 4; ++i)
    sums[i] = vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sums[i]), args.scale));
  vst1q_s8(args.y + c, limits.Narrow(sums[0], sums[1], sums[2], sums[3]));
}

}  // namespace

// The last vector of channels overlaps the previous one.
extern "C" void qlinear_mean_i8_neon(const QlinearMeanArgs<int8_t>& args) {
  const Limits limits(args);
  if (args.channels >= 16) {
    for (size_t c = 0; c < args.channels; c += 16) {
      Mean(args, c + 16 <= args.channels ? c : args.channels - 16, limits);
    }
    return;
  }
  for (size_t c = 0; c < args.channels; ++c) {
    int32_t sum = args.start[c];
    for (size_t i = 0; i < args.pixels; ++i) sum += args.x[i * args.x_stride + c];
    if (args.sums != nullptr) {
      args.sums[c] = sum;
      continue;
    }
    const int32x4_t r = vcvtnq_s32_f32(vdupq_n_f32(static_cast<float>(sum) * args.scale));
    args.y[c] = vgetq_lane_s8(limits.Narrow(r, r, r, r), 0);
  }
}
