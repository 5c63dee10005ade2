#include "kernels/arm/requantize.h"

namespace {

struct Product {
  int16x8_t a_zero_point, b_zero_point;
  float scale;
  Limits limits;

  explicit Product(const QlinearMulArgs<int8_t>& args)
      : a_zero_point(vdupq_n_s16(static_cast<int16_t>(args.a_zero_point))),
        b_zero_point(vdupq_n_s16(static_cast<int16_t>(args.b_zero_point))),
        scale(args.scale),
        limits(args) {}

  // Differences have 9 bits, their products 17: float32 represents them exactly.
  int32x4_t Rounded(int32x4_t product) const {
    return vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(product), scale));
  }

  int8x16_t operator()(int8x16_t a, int8x16_t b) const {
    const int16x8_t a0 = vsubq_s16(vmovl_s8(vget_low_s8(a)), a_zero_point);
    const int16x8_t a1 = vsubq_s16(vmovl_high_s8(a), a_zero_point);
    const int16x8_t b0 = vsubq_s16(vmovl_s8(vget_low_s8(b)), b_zero_point);
    const int16x8_t b1 = vsubq_s16(vmovl_high_s8(b), b_zero_point);
    return limits.Narrow(
        Rounded(vmull_s16(vget_low_s16(a0), vget_low_s16(b0))), Rounded(vmull_high_s16(a0, b0)),
        Rounded(vmull_s16(vget_low_s16(a1), vget_low_s16(b1))), Rounded(vmull_high_s16(a1, b1)));
  }
};

}  // namespace

extern "C" void qlinear_mul_i8_neon(const QlinearMulArgs<int8_t>& original) {
  const QlinearMulArgs<int8_t> args = original;  // stores to y might alias it
  const Product product(args);
  size_t i = 0;
  for (; i + 16 <= args.n; i += 16)
    vst1q_s8(args.y + i, product(vld1q_s8(args.a + i), vld1q_s8(args.b + i)));
  for (; i < args.n; ++i)
    args.y[i] = vgetq_lane_s8(product(vdupq_n_s8(args.a[i]), vdupq_n_s8(args.b[i])), 0);
}
