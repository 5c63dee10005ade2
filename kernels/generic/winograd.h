// The transforms of Winograd convolution F(m x m, r x r) (Lavin & Gray 2016) over vectors of
// channels: a tile of m x m outputs is computed from n x n inputs, n = m + r - 1.
//
// One-dimensional transforms are applied first along the lines of a tile, then across them. They
// are B^T, A^T and G of Toom-Cook at the points 0, 1, -1 (n = 4), 2 (n = 5), -2, 1/2 (n = 7), -1/2
// (n = 8) and infinity; for n = 6 at 5/8 of these, which halves the rounding error. B^T depends on
// n alone. Pairs of points of opposite sign share their even and their odd part. With strides of 2
// (m = 2, n = 5, r = 3) the even inputs have the points 0, 1, infinity; odd ones are unchanged.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_

#include "kernels/generic/family.h"
#include "kernels/generic/next_channels.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/vector_groups.h"
#include "kernels/kernel_api.h"

namespace {

inline void InputLine(const F (&x)[4], F (&y)[4]) {
  y[0] = x[0] - x[2];
  y[1] = x[2] + x[1];
  y[2] = x[2] - x[1];
  y[3] = x[3] - x[1];
}

inline void StridedInputLine(const F (&x)[5], F (&y)[5]) {
  y[0] = x[0] - x[2];
  y[2] = x[4] - x[2];
  y[1] = x[2], y[3] = x[1], y[4] = x[3];
}

inline void InputLine(const F (&x)[5], F (&y)[5]) {
  const F two = Set(2.0f), minus_two = Set(-2.0f);
  const F middle = x[3] - x[2];
  y[3] = x[3] - x[1];
  y[0] = Fma(two, x[0] - x[2], y[3]);
  y[1] = Fma(minus_two, x[1], middle);
  y[2] = Fma(two, x[1] - x[2], middle);
  y[4] = Fma(minus_two, y[3], x[4] - x[2]);
}

// Unit of the points for n = size. f16 represents its powers and their products exactly.
constexpr double Unit(int size) { return size == 6 ? 0.625 : 1; }
inline F Constant(double value) { return Set(static_cast<float>(value)); }

inline void InputLine(const F (&x)[6], F (&y)[6]) {
  constexpr double kPoint = Unit(6), kSquare = kPoint * kPoint;
  const F product = Constant(4 * kSquare * kSquare), sum = Constant(-5 * kSquare);
  y[0] = Fma(product, x[0], Fma(sum, x[2], x[4]));
  y[5] = Fma(product, x[1], Fma(sum, x[3], x[5]));
  const F square = Constant(-kSquare), square2 = Constant(-4 * kSquare);
  const F even1 = Fma(square2, x[2], x[4]), odd1 = Fma(square2, x[1], x[3]);
  y[1] = Fma(Constant(kPoint), odd1, even1);
  y[2] = Fma(Constant(-kPoint), odd1, even1);
  const F even2 = Fma(square, x[2], x[4]), odd2 = Fma(square, x[1], x[3]);
  y[3] = Fma(Constant(2 * kPoint), odd2, even2);
  y[4] = Fma(Constant(-2 * kPoint), odd2, even2);
}

// Polynomials with a root at 1/2, but that of 1/2, are those of the other points, times x - 1/2.
inline void InputLine(const F (&x)[7], F (&y)[7]) {
  const F four = Set(4.0f), minus_four = Set(-4.0f), minus_half = Set(-0.5f);
  F z[6];
  TRIMTAB_UNROLL
  for (int i = 0; i < 6; ++i) z[i] = Fma(minus_half, x[i], x[i + 1]);
  const F even = z[4] - z[2], odd = z[3] - z[1], twice = odd + odd;
  y[0] = Fma(four, z[2] - z[0], z[2] - z[4]);
  y[3] = even + twice;
  y[4] = even - twice;
  y[6] = Fma(minus_four, odd, z[5] - z[3]);
  const F even1 = Fma(minus_four, z[2], z[4]), odd1 = Fma(minus_four, z[1], z[3]);
  y[1] = even1 + odd1;
  y[2] = even1 - odd1;
  y[5] = Fma(four, x[1] - x[3], x[5] - x[3]);
}

// The rows of 2 and -2 mirror those of 1/2 and -1/2: their common part is a multiple of the
// differences that the first and the last row begin with.
inline void InputLine(const F (&x)[8], F (&y)[8]) {
  const F outer = Set(5.25f), middle = Set(-4.25f), quarter = Set(0.25f), most = Set(-1.25f),
          rest = Set(-3.75f), half = Set(0.5f);
  const F even = x[4] - x[2], odd = x[3] - x[5];
  y[0] = Fma(outer, even, x[0] - x[6]);
  y[7] = Fma(outer, odd, x[7] - x[1]);
  const F even1 = Fma(middle, x[4], x[2] + x[6]), odd1 = Fma(middle, x[3], x[1] + x[5]);
  y[1] = even1 + odd1;
  y[2] = even1 - odd1;
  const F even2 = Fma(quarter, x[2], Fma(most, x[4], x[6]));
  const F odd3 = Fma(quarter, x[5], Fma(most, x[3], x[1]));
  const F odd2 = half * Fma(rest, odd, odd3);
  y[3] = even2 + odd2;
  y[4] = even2 - odd2;
  const F even3 = Fma(rest, even, even2), twice = odd3 + odd3;
  y[5] = even3 + twice;
  y[6] = even3 - twice;
}

constexpr double Power(double x, int n) { return n == 0 ? 1 : x * Power(x, n - 1); }

// Rows kRow and later of A^T, which contain the powers of the points; the columns of 1/2 and -1/2
// are scaled by 32. x0, last: columns of the points 0 and infinity.
template <int kRow, int kSize, int kTile, int kPairs>
inline void OutputRows(F x0, F last, const F (&sums)[kPairs], const F (&differences)[kPairs],
                       F (&y)[kTile]) {
  const F(&pairs)[kPairs] = kRow % 2 == 0 ? sums : differences;
  constexpr double kPower = Power(Unit(kSize), kRow), kPower2 = Power(2 * Unit(kSize), kRow);
  F sum = pairs[0];
  if constexpr (kPower != 1) sum = Constant(kPower) * sum;
  if constexpr (kRow == 0) sum = sum + x0;
  if constexpr (kRow == kTile - 1) {
    sum = kPower != 1 ? Fma(Constant(kPower), pairs[0], last) : sum + last;
  }
  if constexpr (kPairs > 1)
    sum = kPower2 == 1 ? pairs[1] + sum : Fma(Constant(kPower2), pairs[1], sum);
  if constexpr (kPairs > 2) {
    constexpr double kHalves = 32 >> kRow;
    sum = kHalves == 1 ? pairs[2] + sum : Fma(Constant(kHalves), pairs[2], sum);
  }
  y[kRow] = sum;
  if constexpr (kRow + 1 < kTile) OutputRows<kRow + 1, kSize>(x0, last, sums, differences, y);
}

constexpr bool IsStrided(int tile, int size) { return tile == 2 && size == 5; }
constexpr int Taps(int tile, int size) { return IsStrided(tile, size) ? 3 : size - tile + 1; }

inline void OutputLine(const F (&x)[5], F (&y)[2]) {
  y[0] = x[0] + x[1] + x[3];
  y[1] = x[1] + x[2] + x[4];
}

template <int kTile, int kSize>
inline void OutputLine(const F (&x)[kSize], F (&y)[kTile]) {
  constexpr int kPairs = (kSize - 1) / 2;
  F sums[kPairs], differences[kPairs];
  TRIMTAB_UNROLL
  for (int i = 0; i < kPairs; ++i) {
    sums[i] = differences[i] = x[2 * i + 1];
    if (2 * i + 2 == kSize - 1) break;  // the last point may lack its negative
    sums[i] = x[2 * i + 1] + x[2 * i + 2];
    differences[i] = x[2 * i + 1] - x[2 * i + 2];
  }
  OutputRows<0, kSize>(x[0], x[kSize - 1], sums, differences, y);
}

// G contains the powers of the points, each row scaled to match B^T above.
constexpr double ZeroScale(int size) {
  return size % 2 != 0 ? 0.5 : size == 6 ? 0.25 / Power(Unit(size), 4) : 1;
}
constexpr double PairScale(int size, int pair) {
  constexpr double kScales[5][3] = {{0.5},
                                    {-1. / 6, 1. / 6},
                                    {-1. / 6, 1. / 24},
                                    {1. / 9, -1. / 60, 1. / 45},
                                    {-2. / 9, 1. / 90, 1. / 45}};
  return kScales[size - 4][pair] / Power(Unit(size), size - 2);
}
// Scale of the positive point of a pair relative to the negative one.
constexpr double PositiveScale(int size, int pair) {
  if (size == 7) return pair == 0 ? -3 : pair == 1 ? -5. / 3 : 1;
  return size == 5 && pair == 0 ? 3 : 1;
}

// Rows of G for the points p, -p of pair kPair and later ones.
template <int kPair, int kTaps, int kSize>
inline void WeightRows(const F (&x)[kTaps], F (&y)[kSize]) {
  constexpr double kPoint = Unit(kSize) * (kPair == 0 ? 1 : kPair == 1 ? 2 : 0.5);
  constexpr double kScale = PairScale(kSize, kPair), kSquare = kPoint * kPoint;
  F even = Constant(kScale) * x[0], odd = Constant(kScale * kPoint) * x[1];
  if constexpr (kTaps > 2) even = Fma(Constant(kScale * kSquare), x[2], even);
  if constexpr (kTaps > 3) odd = Fma(Constant(kScale * kSquare * kPoint), x[3], odd);
  if constexpr (kTaps > 4) even = Fma(Constant(kScale * kSquare * kSquare), x[4], even);
  constexpr int kRow = 2 * kPair + 1;
  y[kRow] = even + odd;
  constexpr double kPositive = PositiveScale(kSize, kPair);
  if constexpr (kPositive != 1) y[kRow] = Constant(kPositive) * y[kRow];
  if constexpr (kRow + 1 < kSize - 1) y[kRow + 1] = even - odd;
  if constexpr (kRow + 2 < kSize - 1) WeightRows<kPair + 1>(x, y);
}

template <int kTile, int kTaps, int kSize>
inline void WeightLine(const F (&x)[kTaps], F (&y)[kSize]) {
  if constexpr (IsStrided(kTile, kSize)) {
    y[1] = x[0] + x[2];
    y[0] = x[0], y[2] = x[2], y[3] = y[4] = x[1];
    return;
  }
  constexpr double kScale = ZeroScale(kSize);
  y[0] = x[0];
  if constexpr (kScale != 1) y[0] = Constant(kScale) * x[0];
  WeightRows<0>(x, y);
  y[kSize - 1] = x[kTaps - 1];
}

// Processes as many vectors of channels together as one access moves: they share addresses.
template <int kSize, typename Line>
inline void TransformInput(const WinogradInputArgs<Element>& original, const Line& line) {
  const WinogradInputArgs<Element> args = original;  // stores to y might alias it
  for (size_t c = 0; c < args.channels;
       c = NextChannels<kVectorsPerAccess * kLanes>(c, args.channels)) {
    F lines[kSize][kSize][kVectorsPerAccess];
    const Element* const* a = args.a;
    TRIMTAB_NO_UNROLL
    for (int i = 0; i < kSize; ++i, a += kSize) {
      F x[kVectorsPerAccess][kSize], transformed[kVectorsPerAccess][kSize];
      TRIMTAB_UNROLL
      for (int j = 0; j < kSize; ++j) {
        const Element* const pixel = a[j] + c;
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) x[v][j] = Load(pixel + v * kLanes);
      }
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) line(x[v], transformed[v]);
      TRIMTAB_UNROLL
      for (int j = 0; j < kSize; ++j) {
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) lines[i][j][v] = transformed[v][j];
      }
    }
    Element* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (int j = 0; j < kSize; ++j, y += args.y_stride) {
      F x[kVectorsPerAccess][kSize], transformed[kVectorsPerAccess][kSize];
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) {
        TRIMTAB_UNROLL
        for (int i = 0; i < kSize; ++i) x[v][i] = lines[i][j][v];
        line(x[v], transformed[v]);
      }
      Element* element = y;
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i) {
        F group[kVectorsPerAccess];
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) group[v] = transformed[v][i];
        StoreAndAdvance(element, kSize * args.y_stride, group);
      }
    }
  }
}

template <int kSize>
inline void WinogradInput(const WinogradInputArgs<Element>& args) {
  TransformInput<kSize>(args, [](const auto& x, auto& y) { InputLine(x, y); });
}

TRIMTAB_FAMILY(f32, f16, tiles(4, 5, 6, 7, 8, 2x5))
template <int kTile, int kSize>
inline void WinogradInput(const WinogradInputArgs<Element>& args) {
  TransformInput<kSize>(args, StridedInputLine);
}

TRIMTAB_FAMILY(f32, f16, tiles(2x4, 2x5, 3x5, 4x5, 2x6, 3x6, 4x6, 5x7, 4x8, 5x8, 6x8))
template <int kTile, int kSize>
inline void WinogradOutput(const WinogradOutputArgs<Element>& original) {
  const WinogradOutputArgs<Element> args = original;  // stores to y might alias it
  size_t bounded = args.clamp_max < __builtin_inff();
  __asm__("" : "+r"(bounded));  // else the compiler repeats the comparison for every line
  for (size_t c = 0; c < args.channels;
       c = NextChannels<kVectorsPerAccess * kLanes>(c, args.channels)) {
    F lines[kSize][kTile][kVectorsPerAccess];
    const Element* column = args.x + c;
    TRIMTAB_NO_UNROLL
    for (int j = 0; j < kSize; ++j, column += args.x_stride) {
      F x[kVectorsPerAccess][kSize], transformed[kVectorsPerAccess][kTile];
      const Element* element = column;
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i) {
        F group[kVectorsPerAccess];
        LoadAndAdvance(element, kSize * args.x_stride, group);
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) x[v][i] = group[v];
      }
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) OutputLine(x[v], transformed[v]);
      TRIMTAB_UNROLL
      for (int i = 0; i < kTile; ++i) {
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) lines[j][i][v] = transformed[v][i];
      }
    }
    F bias[kVectorsPerAccess];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectorsPerAccess; ++v)
      bias[v] = args.bias != nullptr ? Load(args.bias + c + v * kLanes) : Set(0.0f);
    Element* y = args.y + c;
    const Element* residual = args.residual + (args.residual != nullptr ? c : 0);
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < args.rows; ++i, y += args.row_stride) {
      F sums[kVectorsPerAccess][kTile];
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) {
        F x[kSize];
        TRIMTAB_UNROLL
        for (int j = 0; j < kSize; ++j) x[j] = lines[j][i][v];
        // The column of A^T for the point 1 is all ones: one addition adds the bias to the line.
        if (Unit(kSize) == 1) x[1] = x[1] + bias[v];
        OutputLine(x, sums[v]);
        if (Unit(kSize) == 1) continue;
        TRIMTAB_UNROLL
        for (int j = 0; j < kTile; ++j) sums[v][j] = sums[v][j] + bias[v];
      }
      if (residual != nullptr) {
        const Element* pixel = residual;
        TRIMTAB_UNROLL
        for (size_t j = 0; j < kTile && j != args.columns; ++j) {
          F group[kVectorsPerAccess];
          LoadAndAdvance(pixel, args.residual_pixel_stride, group);
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectorsPerAccess; ++v) sums[v][j] = sums[v][j] + group[v];
        }
        residual += args.residual_row_stride;
      }
      // Computes the sums before the branches, which the compiler would repeat for every sum.
      TRIMTAB_UNROLL
      for (int j = 0; j < kTile; ++j) {
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectorsPerAccess; ++v) {
          sums[v][j] = Max(sums[v][j], Set(args.clamp_min));
          ForceEvaluation(sums[v][j]);
        }
      }
      if (bounded) {
        TRIMTAB_UNROLL
        for (int j = 0; j < kTile; ++j) {
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectorsPerAccess; ++v)
            sums[v][j] = Min(sums[v][j], Set(args.clamp_max));
        }
      }
      const auto store = [&](size_t columns) {
        Element* pixel = y;
        TRIMTAB_UNROLL
        for (size_t j = 0; j < kTile && j != columns; ++j) {
          F group[kVectorsPerAccess];
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectorsPerAccess; ++v) group[v] = sums[v][j];
          StoreAndAdvance(pixel, args.pixel_stride, group);
        }
      };
      // Most tiles are complete and need no branches.
      if (args.columns == kTile) {
        store(kTile);
      } else {
        store(args.columns);
      }
    }
  }
}

TRIMTAB_FAMILY(f32, f16, needs(precision),
               tiles(2x4, 2x5, 3x5, 4x5, 2x6, 3x6, 4x6, 5x7, 4x8, 5x8, 6x8))
template <int kTile, int kSize>
inline void WinogradWeights(const WinogradWeightsArgs<Element>& original) {
  constexpr int kTaps = Taps(kTile, kSize);
  constexpr int kVectors = kTaps > 3 ? kVectorsPerAccess : kMaxVectorsPerAccess;
  const WinogradWeightsArgs<Element> args = original;  // stores to y might alias it
  for (size_t c = 0; c < args.columns; c = NextChannels<kVectors * kLanes>(c, args.columns)) {
    F lines[kSize][kTaps][kVectors];
    TRIMTAB_NO_UNROLL
    for (int j = 0; j < kTaps; ++j) {
      F x[kVectors][kTaps], transformed[kVectors][kSize];
      TRIMTAB_UNROLL
      for (int i = 0; i < kTaps; ++i) {
        const Element* const weights = args.w[i * kTaps + j] + c;
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v) x[v][i] = Load(weights + v * kLanes);
      }
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) WeightLine<kTile>(x[v], transformed[v]);
      TRIMTAB_UNROLL
      for (int i = 0; i < kSize; ++i) {
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v) lines[i][j][v] = transformed[v][i];
      }
    }
    Element* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (int i = 0; i < kSize; ++i) {
      F x[kVectors][kTaps], transformed[kVectors][kSize];
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        TRIMTAB_UNROLL
        for (int j = 0; j < kTaps; ++j) x[v][j] = lines[i][j][v];
        WeightLine<kTile>(x[v], transformed[v]);
      }
      TRIMTAB_UNROLL
      for (int j = 0; j < kSize; ++j) {
        F group[kVectors];
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v) group[v] = transformed[v][j];
        StoreAndAdvance(y, args.y_stride, group);
      }
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_H_
