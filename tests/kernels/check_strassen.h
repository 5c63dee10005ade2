// Checks of the sums of Strassen's algorithm. The error of a result is one rounding per addition
// (Higham 2002, section 3.1): gamma of their number times the sum of absolute values.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_STRASSEN_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_STRASSEN_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_products.h"

namespace check {

constexpr size_t kMaxStrassenRow = 70;  // around every vector's width

class StrassenSumsCheck {
 public:
  void Run(void (*kernel)(const StrassenSumsArgs<float>&), Result* result) {
    for (size_t n = 0; n <= kMaxStrassenRow; ++n) {
      ++result->cases;
      const float* a[4];
      for (size_t i = 0; i < 4; ++i) {
        float* const row = a_[i].Take(n);
        random_.Fill(row, n);
        a[i] = row;
      }
      float* const s = s_.TakeOutput(4 * n);
      kernel({a[0], a[1], a[2], a[3], s, n});
      char place[40];
      snprintf(place, sizeof(place), "n %zu", n);
      s_.CheckUntouched(s, 4, n, n, result, place);
      for (size_t i = 0; i < n; ++i) {
        const double a11 = a[0][i], a12 = a[1][i], a21 = a[2][i], a22 = a[3][i];
        const double size = fabs(a11) + fabs(a12) + fabs(a21) + fabs(a22);
        result->Compare(s[i], a21 + a22, Gamma<float>(1) * size, place);
        result->Compare(s[n + i], a21 + a22 - a11, Gamma<float>(2) * size, place);
        result->Compare(s[2 * n + i], a11 - a21, Gamma<float>(1) * size, place);
        result->Compare(s[3 * n + i], a12 - (a21 + a22 - a11), Gamma<float>(3) * size, place);
      }
    }
  }

 private:
  Guarded<float> a_[4], s_;
  Random random_;
};

class StrassenResultsCheck {
 public:
  void Run(void (*kernel)(const StrassenResultsArgs<float>&), Result* result) {
    for (size_t n = 0; n <= kMaxStrassenRow; ++n) {
      for (int turn = 0; turn < 8; ++turn)
        RunCase(kernel, n, turn % 2 != 0, turn / 2 % 2 != 0, turn / 4 != 0, result);
    }
  }

 private:
  void RunCase(void (*kernel)(const StrassenResultsArgs<float>&), size_t n, bool has_bottom,
               bool has_residual, bool clamp, Result* result) {
    ++result->cases;
    // Unmodified top and bottom, and the residual of each.
    const float *given[2], *residual[2];
    float* y[2];
    for (size_t i = 0; i < 2; ++i) {
      float* const row = given_[i].Take(2 * n);
      random_.Fill(row, 2 * n);
      given[i] = row;
      y[i] = y_[i].TakeOutput(2 * n);
      memcpy(y[i], row, 2 * n * sizeof(float));
      float* const addend = residual_[i].Take(2 * n);
      random_.Fill(addend, 2 * n);
      residual[i] = addend;
    }
    const float low = clamp ? -0.5f : -INFINITY, high = clamp ? 0.75f : INFINITY;
    kernel({y[0], has_bottom ? y[1] : nullptr, has_residual ? residual[0] : nullptr,
            has_residual ? residual[1] : nullptr, n, low, high});
    char place[80];
    snprintf(place, sizeof(place), "n %zu, bottom %d, residual %d, clamp %d", n, has_bottom,
             has_residual, clamp);
    for (size_t half = 0; half < 2; ++half) {
      y_[half].CheckUntouched(y[half], 1, 2 * n, 2 * n, result, place);
      const bool changes = has_residual && (half == 0 || has_bottom);
      for (size_t i = 0; i < 2 * n; ++i) {
        const double was = given[half][i], addend = changes ? residual[half][i] : 0.0;
        if (half == 0 || i < n || !has_bottom) {
          result->Compare(y[half][i], was + addend, Gamma<float>(1) * (fabs(was) + fabs(addend)),
                          place);
          continue;
        }
        const double u3 = given[1][i - n], u4 = given[0][i];
        const double size = fabs(u3) + fabs(u4) + fabs(was) + fabs(addend);
        result->Compare(y[half][i], Clamp(u3 + u4 - was + addend, low, high),
                        Gamma<float>(3) * size, place);
      }
    }
  }

  Guarded<float> given_[2], residual_[2], y_[2];
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_STRASSEN_H_
