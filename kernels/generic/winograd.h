// The transforms of Winograd convolution F(m x m, 3 x 3) (Lavin & Gray 2016) over vectors of
// channels: a tile of m x m outputs comes from (m + 2) x (m + 2) inputs.
//
// One-dimensional transforms, first over the lines of a tile, then across them. They are B^T and
// A^T of Toom-Cook at the points 0, 1, -1 (m = 2), 2, -2 (m = 4), 1/2, -1/2 (m = 6) and infinity;
// trimtab/packing/winograd.py has G. Pairs of points that differ in sign share their even and their
// odd part.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

template <int kTile>
struct Winograd;

template <>
struct Winograd<2> {
  static inline void Input(const F (&x)[4], F (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[2] + x[1];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }

  static inline void Output(const F (&x)[4], F (&y)[2]) {
    y[0] = x[0] + (x[1] + x[2]);
    y[1] = x[3] + (x[1] - x[2]);
  }
};

template <>
struct Winograd<4> {
  static inline void Input(const F (&x)[6], F (&y)[6]) {
    const F two = Set(2.0f), four = Set(4.0f), minus_four = Set(-4.0f), minus_five = Set(-5.0f);
    y[0] = Fma(four, x[0], Fma(minus_five, x[2], x[4]));
    y[5] = Fma(four, x[1], Fma(minus_five, x[3], x[5]));
    const F even1 = Fma(minus_four, x[2], x[4]), odd1 = Fma(minus_four, x[1], x[3]);
    y[1] = even1 + odd1;
    y[2] = even1 - odd1;
    const F even2 = x[4] - x[2], odd2 = two * (x[3] - x[1]);
    y[3] = even2 + odd2;
    y[4] = even2 - odd2;
  }

  static inline void Output(const F (&x)[6], F (&y)[4]) {
    const F two = Set(2.0f), four = Set(4.0f), eight = Set(8.0f);
    const F sum1 = x[1] + x[2], difference1 = x[1] - x[2];
    const F sum2 = x[3] + x[4], difference2 = x[3] - x[4];
    y[0] = x[0] + sum1 + sum2;
    y[1] = Fma(two, difference2, difference1);
    y[2] = Fma(four, sum2, sum1);
    y[3] = Fma(eight, difference2, difference1) + x[5];
  }
};

template <>
struct Winograd<6> {
  static inline void Input(const F (&x)[8], F (&y)[8]) {
    const F outer = Set(5.25f);
    y[0] = Fma(outer, x[4] - x[2], x[0] - x[6]);
    y[7] = Fma(outer, x[3] - x[5], x[7] - x[1]);
    const F middle = Set(-4.25f);
    const F even1 = Fma(middle, x[4], x[2] + x[6]), odd1 = Fma(middle, x[3], x[1] + x[5]);
    y[1] = even1 + odd1;
    y[2] = even1 - odd1;
    const F half = Set(0.5f), two = Set(2.0f), minus = Set(-2.5f);
    const F even2 = Fma(Set(0.25f), x[2], Fma(Set(-1.25f), x[4], x[6]));
    const F odd2 = Fma(half, x[1], Fma(minus, x[3], two * x[5]));
    y[3] = even2 + odd2;
    y[4] = even2 - odd2;
    const F even3 = Fma(Set(4.0f), x[2], Fma(Set(-5.0f), x[4], x[6]));
    const F odd3 = Fma(two, x[1], Fma(minus, x[3], half * x[5]));
    y[5] = even3 + odd3;
    y[6] = even3 - odd3;
  }

  static inline void Output(const F (&x)[8], F (&y)[6]) {
    const F two = Set(2.0f), four = Set(4.0f), eight = Set(8.0f), sixteen = Set(16.0f),
            thirty_two = Set(32.0f);
    const F sum1 = x[1] + x[2], difference1 = x[1] - x[2];
    const F sum2 = x[3] + x[4], difference2 = x[3] - x[4];
    const F sum3 = x[5] + x[6], difference3 = x[5] - x[6];
    y[0] = Fma(thirty_two, sum3, x[0] + sum1 + sum2);
    y[1] = Fma(sixteen, difference3, Fma(two, difference2, difference1));
    y[2] = Fma(eight, sum3, Fma(four, sum2, sum1));
    y[3] = Fma(four, difference3, Fma(eight, difference2, difference1));
    y[4] = Fma(two, sum3, Fma(sixteen, sum2, sum1));
    y[5] = Fma(thirty_two, difference2, difference1) + (difference3 + x[7]);
  }
};

// Where the next vector begins: the last one of a row overlaps the one before it, which computes
// some channels twice and needs no code for parts of vectors.
inline size_t NextVector(size_t c, size_t channels) {
  c += kLanes;
  return c < channels && c + kLanes > channels ? channels - kLanes : c;
}

template <int kTile>
inline void WinogradInput(const WinogradInputF32Args& given) {
  constexpr int kSize = kTile + 2;
  const WinogradInputF32Args args = given;  // a copy that stores to y cannot change
  for (size_t c = 0; c < args.channels; c = NextVector(c, args.channels)) {
    F lines[kSize][kSize];
    const float* const* a = args.a;
    TRIMTAB_NO_UNROLL
    for (int i = 0; i < kSize; ++i, a += kSize) {
      F x[kSize];
      TRIMTAB_UNROLL
      for (int j = 0; j < kSize; ++j) x[j] = Load(a[j] + c);
      Winograd<kTile>::Input(x, lines[i]);
    }
    float* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (int j = 0; j < kSize; ++j, y += args.y_stride) {
      F x[kSize], transformed[kSize];
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i) x[i] = lines[i][j];
      Winograd<kTile>::Input(x, transformed);
      float* element = y;
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i, element += kSize * args.y_stride)
        Store(element, transformed[i]);
    }
  }
}

// Pixel (i, j) of the tile, from channel c on, at `place` in y.
inline void WinogradStore(const WinogradOutputF32Args& args, size_t place, size_t i, size_t j,
                          size_t c, F sum) {
  if (args.residual != nullptr) {
    const size_t pixel = i * args.residual_row_stride + j * args.residual_pixel_stride;
    sum = sum + Load(args.residual + pixel + c);
  }
  Store(args.y + place, Min(Max(sum, Set(args.clamp_min)), Set(args.clamp_max)));
}

template <int kTile>
inline void WinogradOutput(const WinogradOutputF32Args& given) {
  constexpr int kSize = kTile + 2;
  const WinogradOutputF32Args args = given;  // a copy that stores to y cannot change
  for (size_t c = 0; c < args.channels; c = NextVector(c, args.channels)) {
    F lines[kTile][kSize];
    const float* column = args.x + c;
    TRIMTAB_NO_UNROLL
    for (int j = 0; j < kSize; ++j, column += args.x_stride) {
      F x[kSize], transformed[kTile];
      const float* element = column;
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i, element += kSize * args.x_stride) x[i] = Load(element);
      Winograd<kTile>::Output(x, transformed);
      TRIMTAB_UNROLL
      for (int i = 0; i < kTile; ++i) lines[i][j] = transformed[i];
    }
    const F bias = args.bias != nullptr ? Load(args.bias + c) : Set(0.0f);
    size_t line = c;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < args.rows; ++i, line += args.row_stride) {
      // The column of A^T for the point 1 is all ones, so that one addition serves the whole line.
      lines[i][1] = lines[i][1] + bias;
      F sums[kTile];
      Winograd<kTile>::Output(lines[i], sums);
      size_t place = line;
      if (args.columns == kTile) {
        TRIMTAB_UNROLL
        for (int j = 0; j < kTile; ++j, place += args.pixel_stride)
          WinogradStore(args, place, i, static_cast<size_t>(j), c, sums[j]);
      } else {
        float edge[kTile * kLanes];
        TRIMTAB_UNROLL
        for (int j = 0; j < kTile; ++j) Store(edge + j * kLanes, sums[j]);
        TRIMTAB_NO_UNROLL
        for (size_t j = 0; j < args.columns; ++j, place += args.pixel_stride)
          WinogradStore(args, place, i, j, c, Load(edge + j * kLanes));
      }
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_
