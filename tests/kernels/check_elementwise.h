// Checks of the element-wise kernels against the C library in float64.
//
// Tolerance: (ulps + growth * |x|) * u * |y| + floor * u * max(1, |x|), with u = 2^-24 (half a unit
// in the last place). `ulps` follows from the formulas of kernels/generic/: an exponential or
// logarithm has 1 rounding of its polynomial, 1 of the last operation and less than 1 of the
// reduced argument; a quotient adds 1 (4 on Armv7, whose division is two Newton steps), every
// further operation 1; the power of two of the logistic functions has 2 of its polynomial and 1 of
// the last operation; rounding an exponential's argument, or a constant in it, adds the argument's
// size (`growth` times |x|). `floor` is for functions that subtract near a zero, where the result
// is only accurate relative to its operands.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_ELEMENTWISE_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_ELEMENTWISE_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_support.h"

namespace check {

// Rounding of a result that was computed in float.
template <typename T>
constexpr double kRounded = sizeof(T) == 2 ? 1 : 0;

struct UnaryFunction {
  const char* family;
  double (*f)(double x, double alpha, double beta);
  float alpha, beta;
  float low, high;  // range of the check
  double ulps, floor;
  bool infinities;  // also checked at infinities
  double growth = 0;
};

inline double Sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
inline double GeluOf(double x, double alpha) {
  return alpha == 0.0 ? 0.5 * x * (1.0 + erf(x * M_SQRT1_2))
                      : 0.5 * x * (1.0 + tanh(sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

constexpr UnaryFunction kUnaryFunctions[] = {
    {"clip", [](double x, double a, double b) { return Clamp(x, a, b); }, -0.5f, 6.0f, -10, 10, 0,
     0, true},
    {"clip", [](double x, double a, double b) { return Clamp(x, a, b); }, 0.0f, INFINITY, -10, 10,
     0, 0, true},
    {"leaky_relu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 0.1f, 0, -10, 10,
     1, 0, true},
    {"elu", [](double x, double a, double) { return x < 0 ? a * expm1(x) : x; }, 1.5f, 0, -100, 10,
     5, 0, true},
    {"sigmoid", [](double x, double, double) { return Sigmoid(x); }, 0, 0, -87, 100, 8, 0, false,
     2},
    {"tanh", [](double x, double, double) { return tanh(x); }, 0, 0, -20, 20, 8, 0, true},
    {"hard_sigmoid", [](double x, double a, double b) { return Clamp(a * x + b, 0, 1); }, 0.2f,
     0.5f, -10, 10, 0, 2, true},
    {"hard_swish", [](double x, double, double) { return x * Clamp(x / 6 + 0.5, 0, 1); }, 0, 0, -10,
     10, 1, 3, false},
    {"swish", [](double x, double a, double) { return x * Sigmoid(a * x); }, 1.0f, 0, -80, 100, 8,
     0, false, 2},
    {"swish", [](double x, double a, double) { return x * Sigmoid(a * x); }, 1.702f, 0, -20, 20, 8,
     0, false, 3 * 1.702},
    {"mish", [](double x, double, double) { return x * tanh(log1p(exp(x))); }, 0, 0, -80, 100, 10,
     0, false},
    {"softplus",
     [](double x, double, double) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }, 0, 0, -87,
     100, 8, 0, false},
    {"gelu", [](double x, double a, double) { return GeluOf(x, a); }, 0, 0, -10, 10, 4, 5, false},
    {"gelu", [](double x, double a, double) { return GeluOf(x, a); }, 1.0f, 0, -10, 10, 9, 20,
     false},
    {"exp", [](double x, double, double) { return exp(x); }, 0, 0, -110, 95, 3, 0, true},
    {"log", [](double x, double, double) { return log(x); }, 0, 0, -1, 1000, 3, 0, true},
    {"sqrt", [](double x, double, double) { return sqrt(x); }, 0, 0, -1, 1000, 1, 0, true},
    {"abs", [](double x, double, double) { return fabs(x); }, 0, 0, -10, 10, 0, 0, true},
    {"neg", [](double x, double, double) { return -x; }, 0, 0, -10, 10, 0, 0, true},
    {"floor", [](double x, double, double) { return floor(x); }, 0, 0, -100, 100, 0, 0, true},
    {"ceil", [](double x, double, double) { return ceil(x); }, 0, 0, -100, 100, 0, 0, true},
    {"round", [](double x, double, double) { return nearbyint(x); }, 0, 0, -100, 100, 0, 0, true},
    {"sin", [](double x, double, double) { return sin(x); }, 0, 0, -12800, 12800, 4, 0, false},
    {"cos", [](double x, double, double) { return cos(x); }, 0, 0, -12800, 12800, 4, 0, false},
    {"erf", [](double x, double, double) { return erf(x); }, 0, 0, -6, 6, 4, 0, true},
};

template <typename T>
class UnaryCheck {
 public:
  void Run(void (*kernel)(const UnaryArgs<T>&), const UnaryFunction& f, Result* result) {
    // Lengths around every vector width, then many values; x and y apart and the same.
    for (size_t n = 0; n <= 70; ++n) RunCase(kernel, f, n, n % 2 == 0, result);
    for (int i = 0; i < 4; ++i) RunCase(kernel, f, 4096, false, result);
  }

 private:
  void RunCase(void (*kernel)(const UnaryArgs<T>&), const UnaryFunction& f, size_t n, bool in_place,
               Result* result) {
    ++result->cases;
    // The second NaN has all bits that arithmetic on an exponent could carry into it.
    static const float kSpecial[] = {0.0f,  -0.0f,  NAN,      __builtin_nanf("0x3fffff"),
                                     1.0f,  -1.0f,  1e-30f,   -1e-30f,
                                     1e-5f, -1e-5f, INFINITY, -INFINITY};
    const size_t specials = sizeof(kSpecial) / sizeof(float) - (f.infinities ? 0 : 2);
    T* x = x_.Take(n);
    random_.Fill(x, n, f.low, f.high);
    for (size_t i = 0; i < n; ++i) {
      if (random_.Below(8) == 0) x[i] = kSpecial[random_.Below(specials)];
      if (random_.Below(4) == 0) x[i] = x[i] * 0.01f;
    }
    static T copy[4096];
    memcpy(copy, x, n * sizeof(T));
    T* y = in_place ? x : y_.TakeOutput(n);
    kernel({x, y, n, f.alpha, f.beta});
    char place[64];
    snprintf(place, sizeof(place), "n %zu", n);
    if (!in_place) y_.CheckUntouched(y, 1, n, 0, result, place);
    for (size_t i = 0; i < n; ++i) {
      const double at = Value(copy[i]);
      const double expected = isnan(at) ? at : f.f(at, f.alpha, f.beta);
      snprintf(place, sizeof(place), "x %.9g, n %zu", at, n);
      if (isinf(Value(T(static_cast<float>(expected)))) && !isinf(expected)) {
        result->Compare(Value(y[i]), Value(T(static_cast<float>(expected))), 0.0, place);
        continue;
      }
      const double size = fabs(at) > 1 ? fabs(at) : 1.0;
      result->Compare(Value(y[i]), expected,
                      (f.ulps + kRounded<T> + f.growth * fabs(at)) * kUnit<T> * fabs(expected) +
                          f.floor * kUnit<T> * size + kSmallest<T>,
                      place);
    }
  }

  Guarded<T> x_, y_;
  Random random_;
};

struct BinaryFunction {
  const char* family;
  double (*f)(double a, double b);
  float low, high;
  double ulps;
};

constexpr BinaryFunction kBinaryFunctions[] = {
    {"add", [](double a, double b) { return a + b; }, -10, 10, 1},
    {"sub", [](double a, double b) { return a - b; }, -10, 10, 1},
    {"mul", [](double a, double b) { return a * b; }, -10, 10, 1},
    {"div", [](double a, double b) { return a / b; }, -10, 10, 1},
    {"max", [](double a, double b) { return isnan(a) || a > b ? a : b; }, -10, 10, 0},
    {"min", [](double a, double b) { return isnan(a) || a < b ? a : b; }, -10, 10, 0},
    {"pow", [](double a, double b) { return pow(a, b); }, -6, 6, 2},
    {"prelu", [](double a, double b) { return a < 0 ? a * b : a; }, -10, 10, 1},
};

template <typename T>
class BinaryCheck {
 public:
  void Run(void (*kernel)(const BinaryArgs<T>&), const BinaryFunction& f, Result* result) {
    for (size_t n = 0; n <= 70; ++n) {
      for (size_t steps = 0; steps < 4; ++steps) {
        const size_t a_step = steps & 1, b_step = steps >> 1, turn = n + steps;
        RunCase(kernel, f, {n, 1, a_step, b_step, 0, 0}, static_cast<int>(n % 3), result);
        const size_t a_row = turn % 3 == 0 ? 0 : 40, b_row = turn % 3 == 1 ? 0 : 37 + turn % 5;
        RunCase(kernel, f, {n % 37, 1 + turn % 4, a_step, b_step, a_row, b_row}, 0, result);
      }
      Accumulate(kernel, f, n, result);
    }
  }

 private:
  struct Shape {
    size_t n, rows, a_step, b_step, a_row, b_row;
  };

  // Combines five rows of b into y, in order.
  void Accumulate(void (*kernel)(const BinaryArgs<T>&), const BinaryFunction& f, size_t n,
                  Result* result) {
    constexpr size_t kRows = 5;
    ++result->cases;
    T *b = b_.Take(kRows * n), *y = y_.TakeOutput(n);
    random_.Fill(b, kRows * n, 1.0f, 2.0f);
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<T>(1.0f);
    kernel({y, b, y, n, kRows, 0, n, 0, 1, 1});
    for (size_t i = 0; i < n; ++i) {
      double expected = 1.0;
      for (size_t row = 0; row < kRows; ++row)
        expected = Value(T(static_cast<float>(f.f(expected, Value(b[row * n + i])))));
      result->Compare(Value(y[i]), expected,
                      2 * kRows * f.ulps * kUnit<T> * fmax(1, fabs(expected)), "rows in order");
    }
  }

  // `alias`: 0 y separate, 1 y is a, 2 y is b, unless that operand is a scalar.
  void RunCase(void (*kernel)(const BinaryArgs<T>&), const BinaryFunction& f, const Shape& t,
               int alias, Result* result) {
    ++result->cases;
    static const float kSpecial[] = {0.0f, -0.0f, NAN, INFINITY, -INFINITY, 2.0f};
    const size_t n = t.n, y_row = n + t.rows - 1;
    const auto size = [&](size_t step, size_t row) {
      return (t.rows - 1) * row + (n == 0 ? 1 : (n - 1) * step + 1);
    };
    const size_t a_size = size(t.a_step, t.a_row), b_size = size(t.b_step, t.b_row);
    T *a = a_.Take(a_size), *b = b_.Take(b_size);
    random_.Fill(a, a_size, f.low, f.high);
    random_.Fill(b, b_size, f.low, f.high);
    if (random_.Below(2) == 0) a[random_.Below(a_size)] = kSpecial[random_.Below(6)];
    if (random_.Below(2) == 0) b[random_.Below(b_size)] = kSpecial[random_.Below(6)];
    static T a_copy[256], b_copy[256];
    memcpy(a_copy, a, a_size * sizeof(T));
    memcpy(b_copy, b, b_size * sizeof(T));
    T* y = alias == 1 && t.a_step == 1   ? a
           : alias == 2 && t.b_step == 1 ? b
                                         : y_.TakeOutput((t.rows - 1) * y_row + n);
    kernel({a, b, y, n, t.rows, t.a_row, t.b_row, y_row, static_cast<uint8_t>(t.a_step),
            static_cast<uint8_t>(t.b_step)});
    char place[128];
    snprintf(place, sizeof(place), "n %zu, rows %zu, steps %zu %zu, alias %d", n, t.rows, t.a_step,
             t.b_step, alias);
    if (y != a && y != b) y_.CheckUntouched(y, t.rows, n, y_row, result, place);
    for (size_t i = 0; i < t.rows * n; ++i) {
      const size_t row = i / n, at = i % n;
      const double left = Value(a_copy[row * t.a_row + at * t.a_step]),
                   right = Value(b_copy[row * t.b_row + at * t.b_step]);
      snprintf(place, sizeof(place), "a %.9g, b %.9g, n %zu, rows %zu, steps %zu %zu", left, right,
               n, t.rows, t.a_step, t.b_step);
      double expected = f.f(left, right);
      const double rounded = Value(T(static_cast<float>(expected)));
      if (isinf(rounded)) expected = rounded;  // exceeds the element type
      result->Compare(Value(y[row * y_row + at]), expected,
                      f.ulps * kUnit<T> * fabs(expected) + kSmallest<T>, place);
    }
  }

  Guarded<T> a_, b_, y_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_ELEMENTWISE_H_
