#include <arm_neon.h>

#include "kernels/kernel_api.h"

namespace {

struct Step {
  float32x4_t scale;
  int16x8_t zero_point, low, high;

  uint8x8_t operator()(float32x4_t a, float32x4_t b) const {
    const int32x4_t first = vcvtnq_s32_f32(vdivq_f32(a, scale));
    const int32x4_t last = vcvtnq_s32_f32(vdivq_f32(b, scale));
    const int16x8_t sum = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(first), last), zero_point);
    return vreinterpret_u8_s8(vmovn_s16(vminq_s16(vmaxq_s16(sum, low), high)));
  }
};

}  // namespace

extern "C" void quantize_f32_neon(const QuantizeArgs<float>& args) {
  const Step step = {vdupq_n_f32(args.scale), vdupq_n_s16(static_cast<int16_t>(args.zero_point)),
                     vdupq_n_s16(static_cast<int16_t>(args.low)),
                     vdupq_n_s16(static_cast<int16_t>(args.high))};
  const float* x = args.x;
  uint8_t* y = args.y;
  size_t n = args.n;
  for (; n >= 8; n -= 8, x += 8, y += 8) vst1_u8(y, step(vld1q_f32(x), vld1q_f32(x + 4)));
  for (; n > 0; --n) {
    const float32x4_t one = vdupq_n_f32(*x++);
    *y++ = vget_lane_u8(step(one, one), 0);
  }
}
