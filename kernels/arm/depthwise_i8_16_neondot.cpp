#include "kernels/arm/depthwise_bytes.h"
#include "kernels/arm/step.h"

namespace {

int16x8_t Pairs(int8x16_t x) { return vreinterpretq_s16_s8(x); }

// Two pixels or taps of 16 channels, interleaved.
struct Two {
  int16x8_t low, high;

  Two(int8x16_t a, int8x16_t b) : low(Pairs(vzip1q_s8(a, b))), high(Pairs(vzip2q_s8(a, b))) {}
};

// Four pixels or taps in the order of dot products: the four values of a channel are adjacent, four
// channels per vector.
struct Four {
  int8x16_t v[4];

  void Set(const Two& left, const Two& right) {
    v[0] = vreinterpretq_s8_s16(vzip1q_s16(left.low, right.low));
    v[1] = vreinterpretq_s8_s16(vzip2q_s16(left.low, right.low));
    v[2] = vreinterpretq_s8_s16(vzip1q_s16(left.high, right.high));
    v[3] = vreinterpretq_s8_s16(vzip2q_s16(left.high, right.high));
  }
  void Store(int8_t* to) const {
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_s8(to + 16 * i, v[i]);
  }
};

// 3x3 windows, two neighbors at a time, down the image, so that each row is interleaved once. The
// weights do not fit into registers beside rows and sums.
class TwoDown {
 public:
  explicit TwoDown(const int8_t* w) {
    const int8x16_t zero = vdupq_n_s8(0);
    TRIMTAB_NO_UNROLL
    for (int i = 0; i < 3; ++i, w += 48) {
      const int8x16_t a = vld1q_s8(w), b = vld1q_s8(w + 16), c = vld1q_s8(w + 32);
      Four four;
      four.Set({a, b}, {c, zero});
      four.Store(first_[i]);
      four.Set({zero, a}, {b, c});
      four.Store(last_[i]);
    }
  }

  // Computes the pixels at y; `a`: pointers to their taps.
  template <int kStep>
  inline void Run(const DepthwiseArgs<int8_t>& args, const Channels& channels,
                  const int8_t* const* a, int8_t* y, const Limits& limits) const {
    const size_t column = args.column, right_y = args.y_stride, down_y = args.y_row_stride;
    const size_t offset = channels.offset;
    const int32_t* bias = channels.bias;
    const float *const scale = channels.scale, *const slope = channels.slope;
    const auto load = [&](Four* left, Four* right) TRIMTAB_HERE {
      const auto tap = [&](int i) { return vld1q_s8(a[i * column] + offset); };
      const Two middle(tap(2), tap(3));
      left->Set({tap(0), tap(1)}, middle);
      if (kStep == 2) {
        const int8x16_t last = tap(4);
        right->Set(middle, {last, last});
      }
      ++a;
    };
    Sums one, two;
    const auto start = [&]() TRIMTAB_HERE {
      one.Start(bias);
      __asm__("" : "+r"(bias));  // reloaded, because moves would be more instructions
      two.Start(bias);
    };
    const auto store = [&]() TRIMTAB_HERE {
      const int8x16_t bytes = one.Requantized(scale, slope, limits);
      vst1q_s8(y + right_y, two.Requantized(scale, slope, limits));
      vst1q_s8(y, bytes);
      y += down_y;
    };
    size_t rows = args.rows;
    if constexpr (kStep == 1) {
      // Both windows read the same four columns: the left one all but the last, the right one all
      // but the first.
      const auto next = [&](const Four& top, const Four& middle, Four* bottom) TRIMTAB_HERE {
        load(bottom, nullptr);
        const int8_t *left = first_[0], *right = last_[0];
        start();
        Add(top, left, &one);
        Add(top, right, &two);
        Add(middle, left, &one);
        Add(middle, right, &two);
        Add(*bottom, left, &one);
        Add(*bottom, right, &two);
        store();
      };
      Four x0, x1, x2;
      load(&x0, nullptr);
      load(&x1, nullptr);
      for (;;) {
        next(x0, x1, &x2);
        if (--rows == 0) return;
        next(x1, x2, &x0);
        if (--rows == 0) return;
        next(x2, x0, &x1);
        if (--rows == 0) return;
      }
    } else {
      Four left, right;
      load(&left, &right);
      for (; rows > 0; --rows) {
        const int8_t* w = first_[0];
        start();
        AddBoth(left, right, w, &one, &two);
        TRIMTAB_UNROLL
        for (int i = 0; i < 2; ++i) {
          load(&left, &right);
          AddBoth(left, right, w, &one, &two);
        }
        store();
      }
    }
  }

 private:
  static inline void Add(const Four& x, const int8_t*& w, Sums* sums) {
    const int8x16x4_t four = vld1q_s8_x4(w);
    Step(w, 64);
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) sums->v[i] = vdotq_s32(sums->v[i], x.v[i], four.val[i]);
  }
  static inline void AddBoth(const Four& x, const Four& y, const int8_t*& w, Sums* one, Sums* two) {
    const int8x16x4_t four = vld1q_s8_x4(w);
    Step(w, 64);
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) {
      one->v[i] = vdotq_s32(one->v[i], x.v[i], four.val[i]);
      two->v[i] = vdotq_s32(two->v[i], y.v[i], four.val[i]);
    }
  }

  // Rows of the window: its taps and a 0; a 0 and its taps.
  int8_t first_[3][64], last_[3][64];
};

template <int kStep>
void Dots(const DepthwiseArgs<int8_t>& args, const Channels& channels, const Limits& limits) {
  const TwoDown window(channels.w);
  for (size_t p = 0; p < args.pixels; p += 2) {
    if (p + 2 > args.pixels) p = args.pixels - 2;  // recomputes one of them
    window.Run<kStep>(args, channels, args.a + p * kStep * args.column,
                      channels.y + p * args.y_stride, limits);
  }
}

}  // namespace

extern "C" void depthwise_i8_16_neondot(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16)
    return DepthwiseFewChannels<16>(args, {depthwise_i8_16_neondot, DepthwiseLines});
  const bool down = args.pixels >= 2 && (args.rows == 1 || args.step_h == args.step_w);
  Depthwise(args, down && IsWindow<3, 1>(args)   ? Dots<1>
                  : down && IsWindow<3, 2>(args) ? Dots<2>
                                                 : OtherWindowFor(args));
}
