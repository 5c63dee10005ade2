// Checks of the loops that measure a machine's limits (kernels/generic/roofline.h): a loop that
// does less than it claims would measure a wrong limit.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_ROOFLINE_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_ROOFLINE_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_products.h"

namespace check {

enum class Loop { kPeak, kPortablePeak, kRead, kCopy };

template <typename T>
class RooflineCheck {
 public:
  using Kernel = void (*)(const UnaryArgs<T>&);

  void Run(Kernel kernel, Loop loop, Result* result) {
    const size_t lanes = loop == Loop::kCopy ? 16 : Lanes(kernel);
    if (lanes == 0) return result->Fail("wrote nothing", 0, 0, 0, "n 0");
    for (size_t turns = 0; turns <= 70; turns += turns < 4 ? 1 : 11) {
      ++result->cases;
      char place[40];
      snprintf(place, sizeof(place), "%zu turns of %zu lanes", turns, lanes);
      if (loop == Loop::kPeak) CheckPeak(kernel, turns, lanes, result, place);
      if (loop == Loop::kPortablePeak) CheckPortablePeak(kernel, turns, result, place);
      if (loop == Loop::kRead) CheckRead(kernel, turns, lanes, result, place);
      if (loop == Loop::kCopy) CheckCopy(kernel, turns * lanes, result, place);
    }
  }

 private:
  static constexpr size_t kMaxLanes = 16, kRows = 4, kColumns = 3, kSums = 8;

  // A loop without iterations stores one vector, whose size is the result.
  size_t Lanes(Kernel kernel) {
    const T* const x = Input(64 + 4 * kMaxLanes);
    T* const y = y_.TakeOutput(kMaxLanes);
    Call(kernel, x, y, 0);
    size_t lanes = 0;
    while (lanes < kMaxLanes && !Guarded<T>::IsCanary(y + lanes)) ++lanes;
    return lanes;
  }

  void CheckPeak(Kernel kernel, size_t turns, size_t lanes, Result* result, const char* place) {
    const T* const x = Input(64 + 4 * lanes);
    T* const y = y_.TakeOutput(lanes);
    Call(kernel, x, y, turns * kRows * kColumns * lanes);
    y_.CheckUntouched(y, 1, lanes, 0, result, place);
    for (size_t lane = 0; lane < lanes; ++lane) {
      double most = -INFINITY, size = 0;
      for (size_t i = 0; i < kRows; ++i) {
        for (size_t j = 0; j < kColumns; ++j) {
          const double b = Value(x[j + lane]);
          double sum = b, terms = fabs(b);
          for (size_t turn = 0; turn < turns; ++turn) {
            const double product = Value(x[turn % 64 + i * lanes + lane]) * b;
            sum += product;
            terms += fabs(product);
          }
          most = sum > most ? sum : most;
          size = terms > size ? terms : size;
        }
      }
      result->Compare(Value(y[lane]), most, Gamma<T>(2 * turns + 1) * size, place);
    }
  }

  // One sum of all products, in any order.
  void CheckPortablePeak(Kernel kernel, size_t turns, Result* result, const char* place) {
    constexpr size_t kProducts = 32;
    const T* const x = Input(64);
    T* const y = y_.TakeOutput(1);
    Call(kernel, x, y, turns * kProducts);
    y_.CheckUntouched(y, 1, 1, 0, result, place);
    double sum = 0, size = 0;
    for (size_t i = 0; i < turns * kProducts; ++i) {
      const double product = Value(x[i / kProducts % 64]) * Value(x[i % kProducts]);
      sum += product;
      size += fabs(product);
    }
    result->Compare(Value(y[0]), sum, Gamma<T>(turns + kProducts + 1) * size, place);
  }

  void CheckRead(Kernel kernel, size_t turns, size_t lanes, Result* result, const char* place) {
    const size_t n = turns * kSums * lanes;
    const T* const x = Input(n);
    T* const y = y_.TakeOutput(lanes);
    Call(kernel, x, y, n);
    y_.CheckUntouched(y, 1, lanes, 0, result, place);
    for (size_t lane = 0; lane < lanes; ++lane) {
      double most = -INFINITY, size = 0;
      for (size_t j = 0; j < kSums; ++j) {
        double sum = 0, terms = 0;
        for (size_t turn = 0; turn < turns; ++turn) {
          const double value = Value(x[(turn * kSums + j) * lanes + lane]);
          sum += value;
          terms += fabs(value);
        }
        most = sum > most ? sum : most;
        size = terms > size ? terms : size;
      }
      result->Compare(Value(y[lane]), most, Gamma<T>(turns + 1) * size, place);
    }
  }

  void CheckCopy(Kernel kernel, size_t n, Result* result, const char* place) {
    const T* const x = Input(n);
    T* const y = y_.TakeOutput(n);
    Call(kernel, x, y, n);
    y_.CheckUntouched(y, 1, n, 0, result, place);
    for (size_t i = 0; i < n; ++i) result->Compare(Value(y[i]), Value(x[i]), 0, place);
  }

  const T* Input(size_t n) {
    T* const x = x_.Take(n);
    random_.Fill(x, n);
    return x;
  }

  static void Call(Kernel kernel, const T* x, T* y, size_t n) {
    UnaryArgs<T> args = {};
    args.x = x;
    args.y = y;
    args.n = n;
    kernel(args);
  }

  Guarded<T> x_, y_;
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_ROOFLINE_H_
