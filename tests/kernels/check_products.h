// Checks of the kernels that sum products or taps: GEMM, depthwise convolution, pooling.
//
// Bounds (Higham 2002, section 3.1): the error of a sum of n products in any order, fused or not,
// is at most gamma(n + 1) times the sum of absolute values; bias, residual and scale each add one
// rounding. gamma(n) = n u / (1 - n u).
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_PRODUCTS_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_PRODUCTS_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_support.h"

namespace check {

template <typename T>
double Gamma(size_t n) {
  const double roundings = static_cast<double>(n) * kUnit<T>;
  return roundings < 1 ? roundings / (1 - roundings) : INFINITY;
}

// Long sums in f16, for which gamma is too large to detect errors. Independent roundings add up to
// sqrt(n) times one (Higham & Mary 2019), of at most half an ulp of the largest intermediate sum;
// four times that is allowed. Kernels that sum in float are far below.
template <typename T>
double SumBound(size_t n, double size, double largest) {
  const double always = Gamma<T>(n) * size;
  const double likely = 4 * sqrt(static_cast<double>(n)) * kUnit<T> * largest;
  return (sizeof(T) == 2 && likely < always ? likely : always) + kSmallest<T>;
}

struct GemmCase {
  size_t mr, nr, rows, columns, taps, k;
  bool bias, residual, clamp;
  size_t slack;  // padding between rows of c
};

template <typename T>
class GemmCheck {
 public:
  void Run(void (*kernel)(const GemmArgs<T>&), size_t mr, size_t nr, Result* result) {
    if (mr == 0 || nr == 0) return result->Fail("no tile", 0, 1, 0, "a GEMM has one");
    for (size_t rows = 1; rows <= mr; ++rows) RunRows(kernel, mr, nr, rows, result);
    // Several tiles.
    const size_t more[] = {mr + 1, 2 * mr, 3 * mr - 1, 5 * mr + 1};
    for (size_t rows : more) RunRows(kernel, mr, nr, rows, result);
  }

 private:
  void RunRows(void (*kernel)(const GemmArgs<T>&), size_t mr, size_t nr, size_t rows,
               Result* result) {
    static const size_t kDepths[] = {0, 1, 2, 3, 4, 5, 7, 8, 17, 31, 64, 97};
    const size_t columns[] = {1,      nr / 4, nr / 2, nr / 2 + 1, nr / 4 * 3,
                              nr - 1, nr,     nr + 1, 2 * nr + 3, 3 * nr};
    for (size_t n : columns) {
      for (size_t k : kDepths) {
        if (n == 0) continue;
        const size_t taps = turn_ % 3 == 0 ? 9 : turn_ % 3;
        RunCase(kernel,
                {mr, nr, rows, n, taps, k, turn_ % 2 == 0, turn_ % 5 < 2, turn_ % 7 < 3, turn_ % 4},
                result);
        ++turn_;
      }
    }
  }

  void RunCase(void (*kernel)(const GemmArgs<T>&), const GemmCase& t, Result* result) {
    ++result->cases;
    const size_t panels = (t.columns + t.nr - 1) / t.nr, depth = t.taps * t.k;
    T* w = w_.Take(panels * depth * t.nr);
    random_.Fill(w, panels * depth * t.nr);
    T* bias = bias_.Take(panels * t.nr);
    random_.Fill(bias, panels * t.nr);
    const size_t residual_stride = t.columns + 2;
    T* residual = residual_.Take(t.rows * residual_stride - 2);
    random_.Fill(residual, t.rows * residual_stride - 2);
    // More rows than are used, in random order, like an image's pixels. The last one ends at the
    // guard page.
    const size_t pool = (t.rows + t.mr - 1) / t.mr * t.taps * t.mr;
    T* a = a_.Take(pool * t.k);
    random_.Fill(a, pool * t.k);
    static const T* pointers[64 * kMaxTileRows];
    for (size_t i = 0; i < pool; ++i)
      pointers[i] = a + (i == 0 ? pool - 1 : random_.Below(pool)) * t.k;
    const size_t c_stride = t.columns + t.slack;
    const size_t c_size = (t.rows - 1) * c_stride + t.columns;
    T* c = c_.TakeOutput(c_size);
    const float low = t.clamp ? -0.5f : -INFINITY, high = t.clamp ? 0.75f : INFINITY;
    kernel({pointers, w, t.bias ? bias : nullptr, t.residual ? residual : nullptr, c, t.taps, t.k,
            t.rows, t.columns, c_stride, residual_stride, low, high, static_cast<uint16_t>(t.mr),
            static_cast<uint16_t>(t.nr)});
    char place[120];
    snprintf(place, sizeof(place),
             "tile %zux%zu, rows %zu, columns %zu, taps %zu, k %zu, bias %d, residual %d, clamp %d",
             t.mr, t.nr, t.rows, t.columns, t.taps, t.k, t.bias, t.residual, t.clamp);
    c_.CheckUntouched(c, t.rows, t.columns, c_stride, result, place);
    for (size_t i = 0; i < t.rows; ++i) {
      for (size_t j = 0; j < t.columns; ++j) {
        double sum = t.bias ? Value(bias[j]) : 0.0, size = fabs(sum), largest = size;
        const T* column = w + j / t.nr * depth * t.nr + j % t.nr;
        const T* const* row = pointers + i / t.mr * t.taps * t.mr + i % t.mr;
        for (size_t tap = 0; tap < t.taps; ++tap) {
          for (size_t p = 0; p < t.k; ++p) {
            const double product =
                Value(row[tap * t.mr][p]) * Value(column[(tap * t.k + p) * t.nr]);
            sum += product;
            size += fabs(product);
            largest = fmax(largest, fabs(sum));
          }
        }
        if (t.residual) {
          const double added = Value(residual[i * residual_stride + j]);
          sum += added;
          size += fabs(added);
          largest = fmax(largest, fmax(fabs(added), fabs(sum)));
        }
        result->Compare(Value(c[i * c_stride + j]), Clamp(sum, low, high),
                        SumBound<T>(depth + 3, size, largest), place);
      }
    }
  }

  Guarded<T> a_, w_, bias_, residual_, c_;
  Random random_;
  size_t turn_ = 0;
};

// Pixels that share taps like neighbors in an image: pixel p's taps begin at p * step.
template <typename T>
struct Pixels {
  const T* pointers[2048];

  void Point(const T* a, size_t channels, size_t rows, size_t count, Random* random) {
    for (size_t i = 0; i < count; ++i)
      pointers[i] = a + (i == 0 ? rows - 1 : random->Below(rows)) * channels;
  }
};

struct DepthwiseCase {
  size_t nr, channels, rows, pixels, kernel_h, kernel_w, step_h, step_w;
  bool clamp;
  size_t slack;  // padding between pixels and rows of y
};

template <typename T>
class DepthwiseCheck {
 public:
  void Run(void (*kernel)(const DepthwiseArgs<T>&), size_t nr, Result* result) {
    const size_t channels[] = {1,  3,      4,           5,      nr / 2,     nr - 1,
                               nr, nr + 1, nr + nr / 2, 2 * nr, 2 * nr + 5, 3 * nr - 1};
    // 3x3 and 5x5 windows have code of their own, and so do their strides.
    static const size_t kWindows[][2] = {{1, 1}, {3, 3}, {5, 5}, {2, 3}, {3, 1}, {7, 7}, {2, 16}};
    static const size_t kSteps[][2] = {{1, 1}, {2, 2}, {1, 2}, {3, 3}, {5, 7}};
    size_t turn = 0;
    for (size_t c : channels) {
      for (const auto& window : kWindows) {
        for (const auto& step : kSteps) {
          for (size_t pixels = 1; pixels <= 9; ++pixels) {
            RunCase(kernel,
                    {nr, c, turn % 4, turn % 23 == 0 ? 0 : pixels, window[0], window[1], step[0],
                     step[1], turn % 5 < 2, turn % 3},
                    result);
            ++turn;
          }
        }
      }
    }
  }

 private:
  void RunCase(void (*kernel)(const DepthwiseArgs<T>&), const DepthwiseCase& t, Result* result) {
    ++result->cases;
    const size_t tiles = (t.channels + t.nr - 1) / t.nr, taps = t.kernel_h * t.kernel_w;
    const size_t column = (t.rows > 0 ? t.rows - 1 : 0) * t.step_h + t.kernel_h;
    constexpr size_t kRows = 20;
    T* a = a_.Take(kRows * t.channels);
    random_.Fill(a, kRows * t.channels);
    input_.Point(a, t.channels, kRows, (t.pixels * t.step_w + t.kernel_w) * column, &random_);
    // Tiles overlap: a channel has the same weights in both.
    T* plain = plain_.Take(t.channels * taps);
    random_.Fill(plain, t.channels * taps);
    T* w = w_.Take(tiles * taps * t.nr);
    for (size_t i = 0; i < tiles * taps * t.nr; ++i) {
      const size_t last = t.channels < t.nr ? 0 : t.channels - t.nr;
      const size_t begin = i / (taps * t.nr) * t.nr, c = (begin < last ? begin : last) + i % t.nr;
      w[i] = c < t.channels ? plain[c * taps + i / t.nr % taps] : T(0.0f);
    }
    T* bias = bias_.Take(t.channels);
    random_.Fill(bias, t.channels);
    // Rows follow each other as pixels do, so that one stride describes what must stay untouched.
    const size_t stride = t.channels + t.slack, pixels = t.rows * t.pixels;
    T* y = y_.TakeOutput(pixels == 0 ? 0 : (pixels - 1) * stride + t.channels);
    const float low = t.clamp ? -0.5f : -INFINITY, high = t.clamp ? 0.75f : INFINITY;
    kernel({input_.pointers, w, bias, y, t.kernel_h, t.kernel_w, column, t.step_h, t.step_w, t.rows,
            t.pixels, t.channels, stride, t.pixels * stride, low, high,
            static_cast<uint16_t>(t.nr)});
    char place[160];
    snprintf(place, sizeof(place),
             "nr %zu, channels %zu, rows %zu, pixels %zu, window %zux%zu, steps %zu %zu, clamp %d",
             t.nr, t.channels, t.rows, t.pixels, t.kernel_h, t.kernel_w, t.step_h, t.step_w,
             t.clamp);
    y_.CheckUntouched(y, pixels, t.channels, stride, result, place);
    for (size_t p = 0; p < pixels; ++p) {
      const T* const* from =
          input_.pointers + p % t.pixels * t.step_w * column + p / t.pixels * t.step_h;
      for (size_t c = 0; c < t.channels; ++c) {
        double sum = Value(bias[c]), size = fabs(sum);
        for (size_t tap = 0; tap < taps; ++tap) {
          const double product = Value(from[tap % t.kernel_w * column + tap / t.kernel_w][c]) *
                                 Value(plain[c * taps + tap]);
          sum += product;
          size += fabs(product);
        }
        result->Compare(Value(y[p * stride + c]), Clamp(sum, low, high),
                        Gamma<T>(taps + 2) * size + kSmallest<T>, place);
      }
    }
  }

  Guarded<T> a_, plain_, w_, bias_, y_;
  Pixels<T> input_;
  Random random_;
};

class PlaneRowsCheck {
 public:
  void Run(void (*kernel)(const PlaneRowsArgs<float>&), Result* result) {
    static const size_t kPlanes[] = {1, 2, 4, 5, 7, 12}, kTaps[] = {1, 3, 25};
    for (size_t planes : kPlanes) {
      for (size_t taps : kTaps) {
        for (size_t n = 1; n <= 150; n += n < 70 ? 1 : 13) {
          RunCase(kernel, planes, taps, n, 0, result);
          if (planes == 1) RunCase(kernel, 2, taps, n, taps % 5 == 0 ? 5 : 1, result);
        }
      }
    }
  }

 private:
  void RunCase(void (*kernel)(const PlaneRowsArgs<float>&), size_t planes, size_t taps, size_t n,
               size_t line_taps, Result* result) {
    ++result->cases;
    const bool clamp = n % 3 == 0, has_bias = n % 4 != 0, pair = line_taps != 0;
    const size_t y_plane = n + n % 5, own = pair ? 1 : planes;
    size_t offsets[30];
    for (size_t t = 0; t < taps + line_taps; ++t) offsets[t] = random_.Below(100);
    float* const x = x_.Take(100 + n + kMaxTileColumns);
    random_.Fill(x, 100 + n + kMaxTileColumns);
    float* const w = w_.Take(taps * own);
    random_.Fill(w, taps * own);
    float* const bias = bias_.Take(own);
    random_.Fill(bias, own);
    float* const y = y_.TakeOutput((planes - 1) * y_plane + n);
    const float low = clamp ? -0.5f : -INFINITY, high = clamp ? 0.75f : INFINITY;
    kernel(
        {x, offsets, w, has_bias ? bias : nullptr, y, taps, own, n, y_plane, line_taps, low, high});
    char place[100];
    snprintf(place, sizeof(place), "planes %zu, taps %zu, n %zu", planes, taps, n);
    y_.CheckUntouched(y, planes, n, y_plane, result, place);
    for (size_t i = 0; i < planes * n; ++i) {
      const size_t row = i / n, at = i % n, plane = pair ? 0 : row,
                   first = pair ? row * line_taps : 0;
      double sum = has_bias ? Value(bias[plane]) : 0.0, size = fabs(sum);
      for (size_t t = 0; t < taps; ++t) {
        const double product = Value(w[t * own + plane]) * Value(x[offsets[first + t] + at]);
        sum += product;
        size += fabs(product);
      }
      result->Compare(Value(y[row * y_plane + at]), Clamp(sum, low, high),
                      Gamma<float>(taps + 2) * size + kSmallest<float>, place);
    }
  }

  Guarded<float> x_, w_, bias_, y_;
  Random random_;
};

struct PoolCase {
  size_t kernel_h, kernel_w, step_w, channels, pixels;
  size_t slack;  // padding between pixels of y
};

template <typename T>
class PoolCheck {
 public:
  void Run(void (*kernel)(const PoolArgs<T>&), bool average, Result* result) {
    static const size_t kChannels[] = {1,  2,  3,  4,  5,  7,  8,  15, 16,
                                       17, 31, 32, 33, 63, 64, 65, 100};
    // 3x3 windows have code of their own for strides of 1 and 2.
    static const size_t kWindows[][2] = {{1, 1}, {1, 2}, {2, 2}, {3, 3}, {2, 3}, {7, 7}, {49, 1}};
    size_t turn = 0;
    for (size_t channels : kChannels) {
      for (const auto& window : kWindows) {
        for (size_t step = 1; step <= 3; ++step) {
          RunCase(kernel, average, {window[0], window[1], step, channels, turn % 5, turn % 3},
                  result);
          ++turn;
        }
      }
    }
  }

 private:
  void RunCase(void (*kernel)(const PoolArgs<T>&), bool average, const PoolCase& t,
               Result* result) {
    ++result->cases;
    const size_t channels = t.channels, pixels = t.pixels;
    const size_t taps = t.kernel_h * t.kernel_w, step = t.step_w * t.kernel_h;
    constexpr size_t kRows = 20;
    T* a = a_.Take(kRows * channels);
    random_.Fill(a, kRows * channels);
    input_.Point(a, channels, kRows, pixels * step + taps, &random_);
    float* scale = scale_.Take(pixels);
    random_.Fill(scale, pixels, 0.01f, 1.0f);
    const size_t stride = channels + t.slack;
    T* y = y_.TakeOutput(pixels == 0 ? 0 : (pixels - 1) * stride + channels);
    kernel({input_.pointers, average ? scale : nullptr, y, t.kernel_h, t.kernel_w, t.step_w, pixels,
            channels, stride});
    char place[100];
    snprintf(place, sizeof(place), "channels %zu, pixels %zu, window %zux%zu, step %zu", channels,
             pixels, t.kernel_h, t.kernel_w, t.step_w);
    y_.CheckUntouched(y, pixels, channels, stride, result, place);
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t c = 0; c < channels; ++c) {
        double sum = 0.0, size = 0.0, maximum = -INFINITY;
        for (size_t tap = 0; tap < taps; ++tap) {
          const double x = Value(input_.pointers[p * step + tap][c]);
          sum += x;
          size += fabs(x);
          maximum = x > maximum ? x : maximum;
        }
        if (average) {
          result->Compare(Value(y[p * stride + c]), sum * static_cast<double>(scale[p]),
                          Gamma<T>(taps) * size * static_cast<double>(scale[p]) + kSmallest<T>,
                          place);
        } else {
          result->Compare(Value(y[p * stride + c]), maximum, 0.0, place);
        }
      }
    }
  }

  Guarded<T> a_, y_;
  Guarded<float> scale_;
  Pixels<T> input_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_PRODUCTS_H_
