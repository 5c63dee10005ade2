#include "kernels/arm/advance.h"
#include "kernels/arm/depthwise_i8.h"

namespace {

int16x8_t AsPairs(int8x16_t x) { return vreinterpretq_s16_s8(x); }

// Two pixels or taps of 16 channels, interleaved.
struct Pair {
  int16x8_t low, high;

  Pair(int8x16_t a, int8x16_t b) : low(AsPairs(vzip1q_s8(a, b))), high(AsPairs(vzip2q_s8(a, b))) {}
};

// Four pixels or taps in the order of dot products: the four values of a channel are adjacent, four
// channels per vector.
struct Quad {
  int8x16_t v[4];

  void Set(const Pair& left, const Pair& right) {
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
class PixelPairsDown {
 public:
  explicit PixelPairsDown(const int8_t* w) {
    const int8x16_t zero = vdupq_n_s8(0);
    TRIMTAB_NO_UNROLL
    for (int i = 0; i < 3; ++i, w += 48) {
      const int8x16_t a = vld1q_s8(w), b = vld1q_s8(w + 16), c = vld1q_s8(w + 32);
      Quad four;
      four.Set({a, b}, {c, zero});
      four.Store(first_[i]);
      four.Set({zero, a}, {b, c});
      four.Store(last_[i]);
    }
  }

  // Computes the pixels at y; `a`: pointers to their taps.
  template <int kStep>
  inline void Run(const DepthwiseArgs<int8_t>& args, const ChannelParameters& channels,
                  const int8_t* const* a, int8_t* y, const Limits& limits) const {
    const size_t column = args.column, right_y = args.y_stride, down_y = args.y_row_stride;
    const size_t offset = channels.offset;
    const int32_t* bias = channels.bias;
    const float *const scale = channels.scale, *const slope = channels.slope;
    const auto load = [&](Quad* left, Quad* right) TRIMTAB_INLINED {
      const auto tap = [&](int i) { return vld1q_s8(a[i * column] + offset); };
      const Pair middle(tap(2), tap(3));
      left->Set({tap(0), tap(1)}, middle);
      if (kStep == 2) {
        const int8x16_t last = tap(4);
        right->Set(middle, {last, last});
      }
      ++a;
    };
    Accumulators left_sums, right_sums;
    const auto start = [&]() TRIMTAB_INLINED {
      left_sums.Initialize(bias);
      __asm__("" : "+r"(bias));  // reloaded, because moves would be more instructions
      right_sums.Initialize(bias);
    };
    const auto store = [&]() TRIMTAB_INLINED {
      const int8x16_t bytes = left_sums.Requantized(scale, slope, limits);
      vst1q_s8(y + right_y, right_sums.Requantized(scale, slope, limits));
      vst1q_s8(y, bytes);
      y += down_y;
    };
    size_t rows = args.rows;
    if constexpr (kStep == 1) {
      // Both windows read the same four columns: the left one all but the last, the right one all
      // but the first.
      const auto next = [&](const Quad& top, const Quad& middle, Quad* bottom) TRIMTAB_INLINED {
        load(bottom, nullptr);
        const int8_t *left = first_[0], *right = last_[0];
        start();
        Add(top, left, &left_sums);
        Add(top, right, &right_sums);
        Add(middle, left, &left_sums);
        Add(middle, right, &right_sums);
        Add(*bottom, left, &left_sums);
        Add(*bottom, right, &right_sums);
        store();
      };
      Quad x0, x1, x2;
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
      Quad left, right;
      load(&left, &right);
      for (; rows > 0; --rows) {
        const int8_t* w = first_[0];
        start();
        AddToBoth(left, right, w, &left_sums, &right_sums);
        TRIMTAB_UNROLL
        for (int i = 0; i < 2; ++i) {
          load(&left, &right);
          AddToBoth(left, right, w, &left_sums, &right_sums);
        }
        store();
      }
    }
  }

 private:
  static inline void Add(const Quad& x, const int8_t*& w, Accumulators* sums) {
    const int8x16x4_t four = vld1q_s8_x4(w);
    Advance(w, 64);
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) sums->v[i] = vdotq_s32(sums->v[i], x.v[i], four.val[i]);
  }
  static inline void AddToBoth(const Quad& x, const Quad& y, const int8_t*& w,
                               Accumulators* left_sums, Accumulators* right_sums) {
    const int8x16x4_t four = vld1q_s8_x4(w);
    Advance(w, 64);
    TRIMTAB_UNROLL
    for (int i = 0; i < 4; ++i) {
      left_sums->v[i] = vdotq_s32(left_sums->v[i], x.v[i], four.val[i]);
      right_sums->v[i] = vdotq_s32(right_sums->v[i], y.v[i], four.val[i]);
    }
  }

  // Rows of the window: its taps and a 0; a 0 and its taps.
  int8_t first_[3][64], last_[3][64];
};

template <int kStep>
void Window3x3ByDot(const DepthwiseArgs<int8_t>& args, const ChannelParameters& channels,
                    const Limits& limits) {
  const PixelPairsDown window(channels.w);
  for (size_t p = 0; p < args.pixels; p += 2) {
    if (p + 2 > args.pixels) p = args.pixels - 2;  // recomputes one of them
    window.Run<kStep>(args, channels, args.a + p * kStep * args.column,
                      channels.y + p * args.y_stride, limits);
  }
}

}  // namespace

extern "C" void depthwise_i8_16_neondot(const DepthwiseArgs<int8_t>& args) {
  if (args.channels < 16)
    return DepthwiseFewChannels<16>(args, {depthwise_i8_16_neondot, DepthwiseContiguous});
  const bool down = args.pixels >= 2 && (args.rows == 1 || args.step_h == args.step_w);
  Depthwise(args, down && IsWindow<3, 1>(args)   ? Window3x3ByDot<1>
                  : down && IsWindow<3, 2>(args) ? Window3x3ByDot<2>
                                                 : OtherWindowFunctionFor(args));
}
