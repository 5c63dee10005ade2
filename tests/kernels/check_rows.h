// Checks of softmax, normalization and arg max against the C library in float64.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_ROWS_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_ROWS_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_support.h"

namespace check {

template <typename T>
class SoftmaxCheck {
 public:
  void Run(void (*kernel)(const SoftmaxArgs<T>&), bool logarithm, Result* result) {
    static const size_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 5000};
    for (size_t n : kLengths) {
      RunCase(kernel, logarithm, n, 3.0f, result);
      RunCase(kernel, logarithm, n, 60.0f, result);
    }
  }

 private:
  // x - max is rounded once, which the exponential turns into a relative error of |x - max| u; the
  // exponential itself is accurate to 4 u. The sum of n terms is computed in lanes and blocks of 32
  // vectors: no term passes more than 32 + n / 32 + 16 additions.
  void RunCase(void (*kernel)(const SoftmaxArgs<T>&), bool logarithm, size_t n, float range,
               Result* result) {
    ++result->cases;
    T* x = x_.Take(n);
    random_.Fill(x, n, -range, range);
    T* y = y_.TakeOutput(n);
    kernel({x, y, n});
    char place[64];
    snprintf(place, sizeof(place), "n %zu, range %g", n, static_cast<double>(range));
    y_.CheckUntouched(y, n, 1, 1, result, place);
    double maximum = -INFINITY, sum = 0.0, spread = 0.0;
    for (size_t i = 0; i < n; ++i) maximum = fmax(maximum, Value(x[i]));
    for (size_t i = 0; i < n; ++i) sum += exp(Value(x[i]) - maximum);
    for (size_t i = 0; i < n; ++i) {
      const double d = Value(x[i]) - maximum;
      spread += -d * exp(d) / sum;
    }
    const double sum_error = 4 + spread + 48 + static_cast<double>(n) / 32;
    for (size_t i = 0; i < n; ++i) {
      const double d = Value(x[i]) - maximum;
      if (logarithm) {
        const double expected = d - log(sum);
        result->Compare(Value(y[i]), expected,
                        kUnit<T> * (sum_error + fabs(d) + 4 * log(sum) + fabs(expected)), place);
      } else {
        const double expected = exp(d) / sum;
        result->Compare(Value(y[i]), expected,
                        kUnit<T> * expected * (4 + fabs(d) + sum_error + 2) + kSmallest<T>, place);
      }
    }
  }

  Guarded<T> x_, y_;
  Random random_;
};

template <typename T>
class SoftmaxColumnsCheck {
 public:
  void Run(void (*kernel)(const SoftmaxColumnsArgs<T>&), Result* result) {
    static const size_t kLengths[] = {1, 2, 5, 31, 32, 33, 1000};
    static const size_t kColumns[] = {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64};
    for (size_t n : kLengths) {
      for (size_t columns : kColumns) {
        RunCase(kernel, n, columns, columns, 3.0f, result);
        RunCase(kernel, n, columns, columns + 5, 60.0f, result);
      }
    }
  }

 private:
  // 2^-126 sqrt(2): below e^-87.33 powers are 0 (math.h), and Armv7's vectors have no denormal
  // numbers, so that they also lose the fraction of a power above 2^-126.
  static constexpr double kFlushed = 1.67e-38;

  // The errors are those of SoftmaxCheck: no term passes more than 32 + n / 32 additions.
  void RunCase(void (*kernel)(const SoftmaxColumnsArgs<T>&), size_t n, size_t columns,
               size_t stride, float range, Result* result) {
    ++result->cases;
    const size_t size = (n - 1) * stride + columns;
    T* x = x_.Take(size);
    random_.Fill(x, size, -range, range);
    T* y = y_.TakeOutput(size);
    kernel({x, y, n, stride, columns});
    char place[80];
    snprintf(place, sizeof(place), "n %zu, columns %zu, stride %zu, range %g", n, columns, stride,
             static_cast<double>(range));
    y_.CheckUntouched(y, n, columns, stride, result, place);
    for (size_t c = 0; c < columns; ++c) {
      double maximum = -INFINITY, sum = 0.0, spread = 0.0;
      for (size_t i = 0; i < n; ++i) maximum = fmax(maximum, Value(x[i * stride + c]));
      for (size_t i = 0; i < n; ++i) sum += exp(Value(x[i * stride + c]) - maximum);
      for (size_t i = 0; i < n; ++i) {
        const double d = Value(x[i * stride + c]) - maximum;
        spread += -d * exp(d) / sum;
      }
      const double sum_error = 4 + spread + 32 + static_cast<double>(n) / 32;
      for (size_t i = 0; i < n; ++i) {
        const double d = Value(x[i * stride + c]) - maximum, expected = exp(d) / sum;
        result->Compare(
            Value(y[i * stride + c]), expected,
            kUnit<T> * expected * (4 + fabs(d) + sum_error + 2) + fmax(kSmallest<T>, kFlushed),
            place);
      }
    }
  }

  Guarded<T> x_, y_;
  Random random_;
};

class ArgMaxCheck {
 public:
  void Run(void (*kernel)(const SoftmaxColumnsArgs<float>&), Result* result) {
    static const size_t kLengths[] = {1, 2, 21, 300};
    for (size_t n : kLengths) {
      for (size_t columns = 1; columns <= 150; ++columns) {
        ++result->cases;
        const size_t stride = columns + columns % 3;
        float* const x = x_.Take((n - 1) * stride + columns);
        for (size_t i = 0; i < (n - 1) * stride + columns; ++i)
          x[i] = random_.Below(40) == 0 ? NAN : static_cast<float>(random_.Below(9));
        float* const y = y_.TakeOutput(columns);
        kernel({x, y, n, stride, columns});
        char place[64];
        snprintf(place, sizeof(place), "n %zu, columns %zu", n, columns);
        y_.CheckUntouched(y, 1, columns, 0, result, place);
        for (size_t c = 0; c < columns; ++c) {
          size_t best = 0;
          for (size_t i = 1; i < n; ++i) best = x[i * stride + c] > x[best * stride + c] ? i : best;
          int32_t index;
          memcpy(&index, y + c, sizeof(index));
          result->Compare(index, static_cast<double>(best), 0, place);
        }
      }
    }
  }

 private:
  Guarded<float> x_, y_;
  Random random_;
};

template <typename T>
class NormalizeCheck {
 public:
  void Run(void (*kernel)(const NormalizeArgs<T>&), Result* result) {
    static const size_t kLengths[] = {1,  2,  3,  4,  5,  7,   8,   9,    15,
                                      16, 17, 31, 33, 64, 100, 193, 1000, 5000};
    for (size_t n : kLengths) {
      for (int i = 0; i < 8; ++i)
        RunCase(kernel, n, i & 1, (i & 2) != 0, (i & 4) != 0 ? 5.0f : 0.0f, result);
    }
    RunInPlace(kernel, result);
  }

 private:
  // Values around `offset`. The sums of n terms have errors of at most `terms` units: no term
  // passes more than 8 additions in a block, one per block of at least 32 terms, and 18 at the end.
  void RunCase(void (*kernel)(const NormalizeArgs<T>&), size_t n, uint8_t step, bool has_bias,
               float offset, Result* result) {
    constexpr double kFloat = kUnit<float>;
    constexpr float kEpsilon = 1e-3f;
    ++result->cases;
    const size_t parameters = step == 0 ? 1 : n;
    T *x = x_.Take(n), *scale = scale_.Take(parameters), *bias = bias_.Take(parameters);
    random_.Fill(x, n, offset - 1, offset + 1);
    random_.Fill(scale, parameters, 0.5f, 1.5f);
    random_.Fill(bias, parameters, -1, 1);
    T* y = y_.TakeOutput(n);
    kernel({x, scale, has_bias ? bias : nullptr, y, n, kEpsilon, step});
    char place[64];
    snprintf(place, sizeof(place), "n %zu, step %d, bias %d, offset %g", n, step, has_bias,
             static_cast<double>(offset));
    y_.CheckUntouched(y, n, 1, 1, result, place);
    const double count = static_cast<double>(n), terms = 30 + count / 32;
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < n; ++i) mean += Value(x[i]) / count;
    for (size_t i = 0; i < n; ++i) variance += pow(Value(x[i]) - mean, 2) / count;
    const double factor = 1 / sqrt(variance + static_cast<double>(kEpsilon));
    const double mean_error = kFloat * terms * (fabs(static_cast<double>(offset)) + 1);
    for (size_t i = 0; i < n; ++i) {
      const double s = Value(scale[i * step]), b = has_bias ? Value(bias[i * step]) : 0.0;
      const double scaled = (Value(x[i]) - mean) * factor * s, expected = scaled + b;
      // The mean moves all distances, and the variance by at most its distance times 2 / 1e-3.
      const double error = mean_error * factor * s * (1 + fabs(scaled)) +
                           kFloat * (fabs(scaled) * (terms + 6) + fabs(b));
      result->Compare(Value(y[i]), expected, error + kUnit<T> * fabs(expected) + kSmallest<T>,
                      place);
    }
  }

  // In place, the result equals that of separate rows.
  void RunInPlace(void (*kernel)(const NormalizeArgs<T>&), Result* result) {
    constexpr size_t kCount = 37;
    ++result->cases;
    T *x = x_.TakeOutput(kCount), *scale = scale_.Take(kCount);
    random_.Fill(x, kCount, -1, 1);
    random_.Fill(scale, kCount, -1, 1);
    T* y = y_.TakeOutput(kCount);
    kernel({x, scale, nullptr, y, kCount, 1e-5f, 1});
    kernel({x, scale, nullptr, x, kCount, 1e-5f, 1});
    for (size_t i = 0; i < kCount; ++i) result->Compare(Value(x[i]), Value(y[i]), 0, "in place");
  }

  Guarded<T> x_, scale_, bias_, y_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_ROWS_H_
