// Checks of the steps of optimizers against their formulas in float64.
//
// Every value is a sum of at most 5 rounded terms; the tolerance is 8 units of the sum of their
// sizes. Adam's step adds a quotient (4 units on Armv7) and a square root, whose operand's relative
// error counts half.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_UPDATE_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_UPDATE_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_support.h"

namespace check {

class UpdateCheck {
 public:
  using Kernel = void (*)(const UpdateArgs<float>&);

  // `values`: 1 parameter and the states of the optimizer; 3: Adam.
  void Run(Kernel kernel, int values, Result* result) {
    for (size_t n = 0; n <= 70; ++n) {
      for (int i = 0; i < 12; ++i)
        RunCase(kernel, values, n, (i & 1) != 0, i / 2 % 2, i / 4, result);
    }
  }

 private:
  static constexpr int kMaxValues = 3;
  // Rounding errors, and the sizes that they are relative to.
  struct Expected {
    double value, size;
  };

  // `place`: results in memory of their own, in that of the values, or the first in the gradient's.
  void RunCase(Kernel kernel, int values, size_t n, bool signs, int lookahead, int place,
               Result* result) {
    ++result->cases;
    UpdateArgs<float> args = {};
    args.n = n;
    args.rate = 0.3f;
    args.scale = 0.7f;
    args.decay = 0.1f;
    args.momentum = 0.9f;
    args.momentum2 = 0.99f;
    args.delta = 1e-3f;
    args.lookahead = lookahead == 0 ? 0.0f : args.momentum;
    args.signs = signs;
    float* const gradient = gradient_.TakeOutput(n);
    random_.Fill(gradient, n, -1, 1);
    args.gradient = gradient;
    static float copies[kMaxValues][128], gradients[128];
    memcpy(gradients, gradient, n * sizeof(float));
    for (int j = 0; j < values; ++j) {
      float* const x = x_[j].TakeOutput(n);
      random_.Fill(x, n, j == 2 ? 0 : -2, 2);  // a moving average of squares is positive
      if (n > 2 && j == 0) x[n / 2] = 0;
      memcpy(copies[j], x, n * sizeof(float));
      args.x[j] = x;
      args.y[j] = place == 1 ? x : y_[j].TakeOutput(n);
    }
    if (place == 2) args.y[0] = gradient;
    kernel(args);
    char text[96];
    snprintf(text, sizeof(text), "n %zu, values %d, signs %d, lookahead %d, place %d", n, values,
             signs, lookahead, place);
    for (int j = 0; j < values; ++j) {
      const Guarded<float>& memory = place == 1 ? x_[j] : place == 2 && j == 0 ? gradient_ : y_[j];
      memory.CheckUntouched(args.y[j], 1, n, n, result, text);
      for (size_t i = 0; i < n; ++i) {
        const double x[] = {copies[0][i], copies[1][i], copies[2][i]};
        const Expected expected = values == kMaxValues ? Adam(args, gradients[i], x, j)
                                                       : Sgd(args, gradients[i], x, values, j);
        result->Compare(static_cast<double>(args.y[j][i]), expected.value,
                        8 * kUnit<float> * expected.size, text);
      }
    }
  }

  static double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

  static Expected Gradient(const UpdateArgs<float>& args, double gradient, double value) {
    const double a = gradient * static_cast<double>(args.scale);
    const double b = static_cast<double>(args.decay) * (args.signs ? Sign(value) : value);
    return {a + b, fabs(a) + fabs(b)};
  }

  static Expected Sgd(const UpdateArgs<float>& args, double gradient, const double* x, int values,
                      int j) {
    const Expected g = Gradient(args, gradient, x[0]);
    const double before = values == 1 ? 0 : x[1] * static_cast<double>(args.momentum);
    const double rate = static_cast<double>(args.rate), moved = before + rate * g.value;
    const double size = fabs(before) + rate * g.size;
    if (j == 1) return {moved, size};
    if (values == 1) return {x[0] - moved, fabs(x[0]) + size};
    const double ahead = static_cast<double>(args.lookahead);
    return {x[0] - moved - ahead * (moved - x[1]), fabs(x[0]) + size + ahead * (size + fabs(x[1]))};
  }

  static Expected Adam(const UpdateArgs<float>& args, double gradient, const double* x, int j) {
    const Expected g = Gradient(args, gradient, x[0]);
    // The kernel computes 1 - momentum in float32, too.
    const double m = static_cast<double>(args.momentum), m2 = static_cast<double>(args.momentum2);
    const double rest = static_cast<double>(1 - args.momentum),
                 rest2 = static_cast<double>(1 - args.momentum2);
    const double mean = m * x[1] + rest * g.value, mean_size = m * fabs(x[1]) + rest * g.size;
    const double square = m2 * x[2] + rest2 * g.value * g.value,
                 square_size = m2 * x[2] + rest2 * g.size * g.size;
    if (j == 1) return {mean, mean_size};
    if (j == 2) return {square, square_size};
    const double divisor = sqrt(square) + static_cast<double>(args.delta);
    const double move = static_cast<double>(args.rate) / divisor;
    const double relative = square > 0 ? square_size / square : 1;
    return {x[0] - move * mean, fabs(x[0]) + move * (2 * mean_size + fabs(mean) * relative)};
  }

  Guarded<float> gradient_, x_[kMaxValues], y_[kMaxValues];
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_UPDATE_H_
