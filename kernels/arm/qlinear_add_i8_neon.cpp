#include "kernels/arm/requantise.h"
#include "kernels/generic/unroll.h"

namespace {

struct Wide {
  float32x4_t v[4];
};

inline Wide Widened(int8x16_t x) {
  const int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_high_s8(x);
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
           vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
}

inline int8x16_t Sum(const QlinearAddArgs<int8_t>& args, int8x16_t a, int8x16_t b,
                     const Limits& limits) {
  const Wide x = Widened(a), y = Widened(b);
  const float32x4_t offset = vdupq_n_f32(args.offset);
  int32x4_t r[4];
  TRIMTAB_UNROLL
  for (int i = 0; i < 4; ++i) {
    const float32x4_t first = vfmaq_n_f32(offset, y.v[i], args.b_scale);
    r[i] = vcvtnq_s32_f32(vfmaq_n_f32(first, x.v[i], args.a_scale));
  }
  return limits.Store(r[0], r[1], r[2], r[3]);
}

}  // namespace

extern "C" void qlinear_add_i8_neon(const QlinearAddArgs<int8_t>& given) {
  const QlinearAddArgs<int8_t> args = given;  // a copy that stores to y cannot change
  const Limits limits(0, args.low, args.high);
  size_t i = 0;
  for (; i + 16 <= args.n; i += 16)
    vst1q_s8(args.y + i, Sum(args, vld1q_s8(args.a + i), vld1q_s8(args.b + i), limits));
  for (; i < args.n; ++i)
    args.y[i] = vgetq_lane_s8(Sum(args, vdupq_n_s8(args.a[i]), vdupq_n_s8(args.b[i]), limits), 0);
}
