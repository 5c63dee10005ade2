#include "kernels/arm/requantise.h"
#include "kernels/generic/depthwise_one_by_one.h"
#include "kernels/generic/unroll.h"

namespace {

// Sums of 16 channels. Two products of bytes fit 16 bits, as weights are above -128.
struct Sums {
  int32x4_t v[4];

  void Add(int16x8_t low, int16x8_t high) {
    v[0] = vaddw_s16(v[0], vget_low_s16(low));
    v[1] = vaddw_high_s16(v[1], low);
    v[2] = vaddw_s16(v[2], vget_low_s16(high));
    v[3] = vaddw_high_s16(v[3], high);
  }
  void One(int8x16_t x, int8x16_t w) {
    Add(vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_high_s8(x, w));
  }
  void Two(int8x16_t x0, int8x16_t w0, int8x16_t x1, int8x16_t w1) {
    const int16x8_t low = vmull_s8(vget_low_s8(x0), vget_low_s8(w0));
    const int16x8_t high = vmull_high_s8(x0, w0);
    Add(vmlal_s8(low, vget_low_s8(x1), vget_low_s8(w1)), vmlal_high_s8(high, x1, w1));
  }
  int8x16_t Requantised(const float* scale, const Limits& limits) const {
    const float32x4x4_t s = vld1q_f32_x4(scale);
    int32x4_t r[4];
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) r[i] = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(v[i]), s.val[i]));
    return limits.Store(r[0], r[1], r[2], r[3]);
  }
};

// The three taps of a column.
struct Column {
  int8x16_t x[3];

  void Load(const int8_t* const* a, size_t offset) {
    TRIMTAB_UNROLL
    for (int i = 0; i < 3; ++i) x[i] = vld1q_s8(a[i] + offset);
  }
};

// Windows of 3 x 3 over 16 channels: weights stay in registers, and so do the columns that the next
// pixel's window shares.
template <int kStep>
struct Window3x3 {
  Column taps[3];
  const int32_t* bias;
  const float* scale;
  Limits limits;
  size_t column, offset, y_stride;
  const int8_t* const* a;  // pointers of the next column
  int8_t* y;

  // The next pixel, whose window begins with the column `first`, and has columns that are new.
  inline void Next(const Column& first, Column& second, Column& third) {
    if (kStep == 2) Load(&second);
    Load(&third);
    const int32x4x4_t start = vld1q_s32_x4(bias);
    Sums sums{{start.val[0], start.val[1], start.val[2], start.val[3]}};
    sums.Two(first.x[0], taps[0].x[0], first.x[1], taps[0].x[1]);
    sums.Two(first.x[2], taps[0].x[2], second.x[0], taps[1].x[0]);
    sums.Two(second.x[1], taps[1].x[1], second.x[2], taps[1].x[2]);
    sums.Two(third.x[0], taps[2].x[0], third.x[1], taps[2].x[1]);
    sums.One(third.x[2], taps[2].x[2]);
    vst1q_s8(y, sums.Requantised(scale, limits));
    y += y_stride;
  }
  inline void Load(Column* to) {
    to->Load(a, offset);
    a += column;
  }

  // A line of pixels.
  inline void Line(size_t pixels) {
    Column one, two, three;
    Load(&one);
    if (kStep == 1) Load(&two);
    for (;;) {
      Next(one, two, three);
      if (--pixels == 0) return;
      kStep == 1 ? Next(two, three, one) : Next(three, one, two);
      if (--pixels == 0) return;
      kStep == 1 ? Next(three, one, two) : Next(two, three, one);
      if (--pixels == 0) return;
    }
  }
};

template <int kStep>
__attribute__((noinline)) void Threes(const DepthwiseArgs<int8_t>& args, const int8_t* w,
                                      const int32_t* bias, const float* scale, size_t offset,
                                      int8_t* to, const Limits& limits) {
  Window3x3<kStep> window = {{}, bias, scale, limits, args.column, offset, args.y_stride, {}, {}};
  TRIMTAB_UNROLL
  for (int i = 0; i < 9; ++i) window.taps[i % 3].x[i / 3] = vld1q_s8(w + 16 * i);
  for (size_t r = 0; r < args.rows; ++r) {
    window.a = args.a + r * args.step_h;
    window.y = to + r * args.y_row_stride;
    window.Line(args.pixels);
  }
}

inline void AnyWindow(const DepthwiseArgs<int8_t>& args, const int8_t* w, const int32_t* bias,
                      const float* scale, size_t offset, int8_t* to, const Limits& limits) {
  const size_t kernel_h = args.kernel_h, kernel_w = args.kernel_w, column = args.column;
  for (size_t r = 0; r < args.rows; ++r) {
    const int8_t* const* a = args.a + r * args.step_h;
    int8_t* y = to + r * args.y_row_stride;
    for (size_t p = args.pixels; p > 0; --p, a += args.step_w * column, y += args.y_stride) {
      const int32x4x4_t start = vld1q_s32_x4(bias);
      Sums sums{{start.val[0], start.val[1], start.val[2], start.val[3]}};
      const int8_t* tap = w;
      for (size_t i = 0; i < kernel_h; ++i) {
        const int8_t* const* line = a + i;
        size_t j = kernel_w;
        for (; j >= 2; j -= 2, line += 2 * column, tap += 32) {
          sums.Two(vld1q_s8(line[0] + offset), vld1q_s8(tap), vld1q_s8(line[column] + offset),
                   vld1q_s8(tap + 16));
        }
        if (j == 0) continue;
        sums.One(vld1q_s8(line[0] + offset), vld1q_s8(tap));
        tap += 16;
      }
      vst1q_s8(y, sums.Requantised(scale, limits));
    }
  }
}

}  // namespace

extern "C" void depthwise_i8_16_neon(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16) return DepthwiseBytesOneByOne(args);
  const Limits limits(args);
  const size_t last = args.channels - 16, taps = args.kernel_h * args.kernel_w;
  const int8_t* w = args.w;
  const bool threes = args.kernel_h == 3 && args.kernel_w == 3;
  const auto window = threes && args.step_w == 1   ? Threes<1>
                      : threes && args.step_w == 2 ? Threes<2>
                                                   : AnyWindow;
  for (size_t begin = 0; args.pixels > 0 && begin < args.channels; begin += 16, w += 16 * taps) {
    const size_t c = begin < last ? begin : last;
    window(args, w, args.bias + c, args.scale + c, c, args.y + c, limits);
  }
}
