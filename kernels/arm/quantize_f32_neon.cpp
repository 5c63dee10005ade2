#include <arm_neon.h>

#include "kernels/kernel_api.h"

namespace {

struct Quantizer {
  float32x4_t scale;
  int16x8_t zero_point, low, high;

  int16x8_t QuantizeEight(float32x4_t a, float32x4_t b) const {
    const int32x4_t first = vcvtnq_s32_f32(vdivq_f32(a, scale));
    const int32x4_t last = vcvtnq_s32_f32(vdivq_f32(b, scale));
    const int16x8_t sum = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(first), last), zero_point);
    return vminq_s16(vmaxq_s16(sum, low), high);
  }
  uint8x16_t operator()(const float32x4x4_t& x) const {
    const int16x8_t first = QuantizeEight(x.val[0], x.val[1]),
                    last = QuantizeEight(x.val[2], x.val[3]);
    return vreinterpretq_u8_s8(vmovn_high_s16(vmovn_s16(first), last));
  }
};

}  // namespace

extern "C" void quantize_f32_neon(const QuantizeArgs<float>& args) {
  const Quantizer quantize = {
      vdupq_n_f32(args.scale), vdupq_n_s16(static_cast<int16_t>(args.zero_point)),
      vdupq_n_s16(static_cast<int16_t>(args.low)), vdupq_n_s16(static_cast<int16_t>(args.high))};
  const float* x = args.x;
  uint8_t* y = args.y;
  size_t n = args.n;
  for (; n >= 16; n -= 16, x += 16, y += 16) vst1q_u8(y, quantize(vld1q_f32_x4(x)));
  for (; n > 0; --n) {
    const float32x4_t copies = vdupq_n_f32(*x++);
    *y++ = static_cast<uint8_t>(vgetq_lane_s16(quantize.QuantizeEight(copies, copies), 0));
  }
}
