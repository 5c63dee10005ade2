#include "kernels/arm/requantize.h"
#include "kernels/generic/unroll.h"

namespace {

// The sum of this many int8 values fits 16 bits.
constexpr size_t kMaxSummands = 256;

// Mean of 16 channels, from c on, over the window with taps at `a`.
inline int8x16_t Mean(const QlinearPoolArgs<int8_t>& args, const int8_t* const* a, size_t c,
                      float scale, const Limits& limits) {
  int32x4_t sums[4];
  TRIMTAB_UNROLL
  for (int i = 0; i < 4; ++i) sums[i] = vdupq_n_s32(args.bias);
  for (size_t left = args.pool.kernel_h * args.pool.kernel_w; left > 0;) {
    const size_t count = left < kMaxSummands ? left : kMaxSummands;
    left -= count;
    int16x8_t low = vdupq_n_s16(0), high = low;
    TRIMTAB_NO_UNROLL
    for (size_t i = count; i > 0; --i) {
      const int8x16_t tap = vld1q_s8(*a++ + c);
      low = vaddw_s8(low, vget_low_s8(tap));
      high = vaddw_high_s8(high, tap);
    }
    sums[0] = vaddw_s16(sums[0], vget_low_s16(low));
    sums[1] = vaddw_high_s16(sums[1], low);
    sums[2] = vaddw_s16(sums[2], vget_low_s16(high));
    sums[3] = vaddw_high_s16(sums[3], high);
  }
  TRIMTAB_UNROLL
  for (int i = 0; i < 4; ++i) sums[i] = vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sums[i]), scale));
  return limits.Narrow(sums[0], sums[1], sums[2], sums[3]);
}

}  // namespace

// The last vector of channels overlaps the previous one.
extern "C" void qlinear_average_pool_i8_neon(const QlinearPoolArgs<int8_t>& original) {
  const QlinearPoolArgs<int8_t> args = original;  // stores to y might alias it
  const PoolArgs<int8_t>& pool = args.pool;
  const Limits limits(args);
  const int8_t* const* a = pool.a;
  int8_t* y = pool.y;
  for (size_t p = 0; p < pool.pixels; ++p) {
    const float scale = pool.scale[p];
    size_t c = 0;
    for (; pool.channels >= 16 && c < pool.channels; c += 16) {
      const size_t first = c + 16 <= pool.channels ? c : pool.channels - 16;
      vst1q_s8(y + first, Mean(args, a, first, scale, limits));
    }
    for (; c < pool.channels; ++c) {
      int32_t sum = args.bias;
      for (size_t t = 0; t < pool.kernel_h * pool.kernel_w; ++t) sum += a[t][c];
      const int32x4_t r = vcvtnq_s32_f32(vdupq_n_f32(static_cast<float>(sum) * scale));
      y[c] = vgetq_lane_s8(limits.Narrow(r, r, r, r), 0);
    }
    a += pool.step_w * pool.kernel_h;
    y += pool.y_stride;
  }
}
