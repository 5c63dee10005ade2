// Checks of the Winograd transforms.
//
// The matrices are computed from Toom-Cook's points. Row p of B^T has the coefficients of the
// product of (x - q) over the other points q, for infinity over all points; column p of A^T has the
// powers of p. Point 0's row of B^T begins with a positive number, and the columns of 1/2 and -1/2
// in A^T are integers; G compensates for that.
//
// Bound (Higham 2002, section 3.1): a one-dimensional transform has at most 7 roundings per result,
// bias included, so the error of two of them is at most gamma(14) times the transform of absolute
// values by absolute matrices; the residual adds one.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_WINOGRAD_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_WINOGRAD_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_products.h"

namespace check {

constexpr size_t kMaxWinogradSize = 8;

struct Matrix {
  size_t rows = 0, columns = 0;
  double at[kMaxWinogradSize][kMaxWinogradSize] = {};
};

// The points of n = 6 are 5/8 of these, except for integers.
constexpr double kWinogradPoints[] = {0, 1, -1, 2, -2, 0.5, -0.5};
inline double WinogradUnit(size_t size) { return size == 6 ? 0.625 : 1; }

// Factor of the first row of B^T, for the point 0: the product of -q over the other points.
inline double WinogradZeroSign(size_t size) {
  double product = 1;
  for (size_t q = 1; q + 1 < size; ++q) product *= -kWinogradPoints[q];
  return product < 0 ? -1 : 1;
}

inline Matrix WinogradInputMatrix(size_t size, double unit) {
  Matrix b{size, size, {}};
  for (size_t p = 0; p < size; ++p) {
    double* row = b.at[p];
    row[0] = 1;
    size_t degree = 0;
    for (size_t q = 0; q + 1 < size; ++q) {
      if (q == p) continue;
      ++degree;
      for (size_t i = degree + 1; i-- > 0;)
        row[i] = (i > 0 ? row[i - 1] : 0) - unit * kWinogradPoints[q] * row[i];
    }
  }
  for (size_t i = 0; i < size; ++i) b.at[0][i] *= WinogradZeroSign(size);
  return b;
}

inline Matrix WinogradOutputMatrix(size_t tile, size_t size, double unit) {
  Matrix a{tile, size, {}};
  for (size_t i = 0; i < tile; ++i) {
    for (size_t p = 0; p + 1 < size; ++p) {
      const double whole = p >= 5 ? 32 : 1;
      a.at[i][p] = whole * pow(unit * kWinogradPoints[p], static_cast<double>(i));
    }
    a.at[i][size - 1] = i + 1 == tile ? 1 : 0;
  }
  return a;
}

// The input matrix of a tile. With strides of 2 the first three inputs are those of the points 0, 1
// and infinity of the even pixels, as in F(2, 2), and the last two the odd pixels unchanged.
inline Matrix WinogradInputMatrix(const WinogradTile& tile) {
  if (tile.stride == 1) return WinogradInputMatrix(tile.size, WinogradUnit(tile.size));
  return {5, 5, {{1, 0, -1}, {0, 0, 1}, {0, 0, -1, 0, 1}, {0, 1}, {0, 0, 0, 1}}};
}
inline Matrix WinogradOutputMatrix(const WinogradTile& tile) {
  if (tile.stride == 1) return WinogradOutputMatrix(tile.tile, tile.size, WinogradUnit(tile.size));
  return {2, 5, {{1, 1, 0, 1}, {0, 1, 1, 0, 1}}};
}

// (M X M^T)[i][j] for the square X of M's columns, whose element e is x(e); with absolute values
// everywhere in *size.
template <typename X>
double Transformed(const Matrix& m, size_t i, size_t j, const X& x, double* size) {
  double sum = 0;
  *size = 0;
  for (size_t k = 0; k < m.columns; ++k) {
    for (size_t l = 0; l < m.columns; ++l) {
      const double product = m.at[i][k] * m.at[j][l] * x(k * m.columns + l);
      sum += product;
      *size += fabs(product);
    }
  }
  return sum;
}

constexpr size_t kWinogradChannels[] = {16, 17, 19, 31, 32, 33, 40, 64};

template <typename T>
class WinogradInputCheck {
 public:
  void Run(void (*kernel)(const WinogradInputArgs<T>&), WinogradTile tile, Result* result) {
    for (size_t channels : kWinogradChannels) {
      for (size_t slack = 0; slack < 6; slack += 3) RunCase(kernel, tile, channels, slack, result);
    }
  }

 private:
  void RunCase(void (*kernel)(const WinogradInputArgs<T>&), WinogradTile tile, size_t channels,
               size_t slack, Result* result) {
    ++result->cases;
    constexpr size_t kRows = 20;
    const Matrix b = WinogradInputMatrix(tile);
    const size_t elements = b.rows * b.rows, stride = channels + slack;
    T* a = a_.Take(kRows * channels);
    random_.Fill(a, kRows * channels);
    input_.Point(a, channels, kRows, elements, &random_);
    T* y = y_.TakeOutput((elements - 1) * stride + channels);
    kernel({input_.pointers, y, channels, stride, tile.tile, tile.size});
    char place[80];
    snprintf(place, sizeof(place), "tile %d of %d, channels %zu, slack %zu", tile.tile, tile.size,
             channels, slack);
    y_.CheckUntouched(y, elements, channels, stride, result, place);
    for (size_t e = 0; e < elements; ++e) {
      for (size_t c = 0; c < channels; ++c) {
        double size;
        const double expected = Transformed(
            b, e / b.rows, e % b.rows, [&](size_t i) { return Value(input_.pointers[i][c]); },
            &size);
        result->Compare(Value(y[e * stride + c]), expected, Gamma<T>(14) * size + kSmallest<T>,
                        place);
      }
    }
  }

  Guarded<T> a_, y_;
  Pixels<T> input_;
  Random random_;
};

template <typename T>
class WinogradOutputCheck {
 public:
  void Run(void (*kernel)(const WinogradOutputArgs<T>&), WinogradTile tile, Result* result) {
    size_t turn = 0;
    for (size_t channels : kWinogradChannels) {
      for (size_t rows = 1; rows <= tile.tile; ++rows) {
        for (size_t columns = 1; columns <= tile.tile; ++columns, ++turn)
          RunCase(kernel, {tile, channels, rows, columns, turn}, result);
      }
    }
  }

 private:
  struct Case {
    WinogradTile tile;
    size_t channels, rows, columns, turn;
  };

  void RunCase(void (*kernel)(const WinogradOutputArgs<T>&), const Case& t, Result* result) {
    ++result->cases;
    const bool use_bias = t.turn % 2 == 0, use_residual = t.turn % 3 == 0, clamp = t.turn % 5 < 2;
    const Matrix a = WinogradOutputMatrix(t.tile);
    const size_t elements = a.columns * a.columns, x_stride = t.channels + t.turn % 4;
    T* x = x_.Take((elements - 1) * x_stride + t.channels);
    random_.Fill(x, (elements - 1) * x_stride + t.channels);
    T* bias = bias_.Take(t.channels);
    random_.Fill(bias, t.channels);
    // Pixels are contiguous, so that all of a row is output; rows may be padded.
    const size_t row_stride = t.columns * t.channels + t.turn % 7;
    const size_t count = (t.rows - 1) * row_stride + t.columns * t.channels;
    const size_t residual_pixel = t.channels + t.turn % 3;
    const size_t residual_row = t.columns * residual_pixel + t.turn % 5;
    const size_t residual_count =
        (t.rows - 1) * residual_row + (t.columns - 1) * residual_pixel + t.channels;
    T* residual = residual_.Take(residual_count);
    random_.Fill(residual, residual_count);
    T* y = y_.TakeOutput(count);
    const float low = clamp ? -2.0f : -INFINITY, high = clamp ? 3.0f : INFINITY;
    kernel({x, use_bias ? bias : nullptr, use_residual ? residual : nullptr, y, t.channels,
            x_stride, t.rows, t.columns, row_stride, t.channels, residual_row, residual_pixel, low,
            high, t.tile.tile, t.tile.size});
    char place[100];
    snprintf(place, sizeof(place), "tile %d of %d, channels %zu, rows %zu, columns %zu, turn %zu",
             t.tile.tile, t.tile.size, t.channels, t.rows, t.columns, t.turn);
    y_.CheckUntouched(y, t.rows, t.columns * t.channels, row_stride, result, place);
    for (size_t i = 0; i < t.rows; ++i) {
      for (size_t j = 0; j < t.columns; ++j) {
        for (size_t c = 0; c < t.channels; ++c) {
          const size_t at = i * row_stride + j * t.channels + c;
          const double added =
              use_residual ? Value(residual[i * residual_row + j * residual_pixel + c]) : 0.0;
          double size;
          double expected =
              Transformed(a, i, j, [&](size_t e) { return Value(x[e * x_stride + c]); }, &size);
          const double start = use_bias ? Value(bias[c]) : 0.0;
          expected += start + added;
          size += fabs(start) + fabs(added);
          result->Compare(Value(y[at]), Clamp(expected, low, high),
                          Gamma<T>(15) * size + kSmallest<T>, place);
        }
      }
    }
  }

  Guarded<T> x_, bias_, residual_, y_;
  Random random_;
};

// Row p of G has the powers of p, divided by the product of (p - q) over the other points q, and by
// the factors of the row of B^T and the column of A^T.
inline Matrix WinogradWeightsMatrix(size_t tile, size_t size, double unit) {
  Matrix g{size, size - tile + 1, {}};
  const double sign = WinogradZeroSign(size);
  for (size_t p = 0; p + 1 < size; ++p) {
    double product = p == 0 ? sign : p >= 5 ? 32 : 1;
    for (size_t q = 0; q + 1 < size; ++q) {
      if (q != p) product *= unit * (kWinogradPoints[p] - kWinogradPoints[q]);
    }
    for (size_t i = 0; i < g.columns; ++i)
      g.at[p][i] = pow(unit * kWinogradPoints[p], static_cast<double>(i)) / product;
  }
  g.at[size - 1][g.columns - 1] = 1;
  return g;
}

inline Matrix WinogradWeightsMatrix(const WinogradTile& tile) {
  if (tile.stride == 1) return WinogradWeightsMatrix(tile.tile, tile.size, WinogradUnit(tile.size));
  return {5, 3, {{1}, {1, 0, 1}, {0, 0, 1}, {0, 1}, {0, 1}}};
}

// A one-dimensional transform has at most 6 roundings per result, including that of a constant.
template <typename T>
class WinogradWeightsCheck {
 public:
  void Run(void (*kernel)(const WinogradWeightsArgs<T>&), WinogradTile tile, Result* result) {
    for (size_t columns : kWinogradChannels) {
      for (size_t slack = 0; slack < 6; slack += 3) RunCase(kernel, tile, columns, slack, result);
    }
  }

 private:
  void RunCase(void (*kernel)(const WinogradWeightsArgs<T>&), WinogradTile tile, size_t columns,
               size_t slack, Result* result) {
    ++result->cases;
    const Matrix g = WinogradWeightsMatrix(tile);
    const size_t taps = g.columns * g.columns, elements = g.rows * g.rows;
    const size_t stride = columns + slack;
    T* w = w_.Take(taps * columns);
    random_.Fill(w, taps * columns);
    input_.Point(w, columns, taps, taps, &random_);
    T* y = y_.TakeOutput((elements - 1) * stride + columns);
    kernel({input_.pointers, y, columns, stride, tile.tile, tile.size});
    char place[80];
    snprintf(place, sizeof(place), "tile %d of %d, columns %zu, slack %zu", tile.tile, tile.size,
             columns, slack);
    y_.CheckUntouched(y, elements, columns, stride, result, place);
    for (size_t e = 0; e < elements; ++e) {
      for (size_t c = 0; c < columns; ++c) {
        double size;
        const double expected = Transformed(
            g, e / g.rows, e % g.rows, [&](size_t i) { return Value(input_.pointers[i][c]); },
            &size);
        result->Compare(Value(y[e * stride + c]), expected, Gamma<T>(12) * size + kSmallest<T>,
                        place);
      }
    }
  }

  Guarded<T> w_, y_;
  Pixels<T> input_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_WINOGRAD_H_
