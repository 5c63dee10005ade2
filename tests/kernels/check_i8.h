// Common parts of the checks of int8 kernels: guarded buffers, the requantization rule, test data.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_I8_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_I8_H_

#include "kernels/kernel_api.h"
#include "tests/kernels/check_support.h"

namespace check {

// A buffer that ends at a guard page, with canaries around results.
class GuardedI8 {
 public:
  int8_t* Take(size_t n) {
    return reinterpret_cast<int8_t*>(floats_.Take((n + 3) / 4) + (n + 3) / 4) - n;
  }
  int8_t* TakeOutput(size_t n) {
    floats_.TakeOutput((n + 3) / 4);
    int8_t* const p = Take(n);
    memset(p - kMargin, kCanary, n + kMargin);
    return p;
  }
  // Checks everything outside of rows x columns at `stride`, including the margin in front.
  void CheckUntouched(const int8_t* p, size_t rows, size_t columns, size_t stride, Result* result,
                      const char* place) const {
    for (size_t i = 1; i <= kMargin; ++i) {
      if (p[-static_cast<ptrdiff_t>(i)] != kCanary)
        return result->Fail("wrote in front of the output", p[-1], 0, 0, place);
    }
    for (size_t i = 0; i + 1 < rows; ++i) {
      for (size_t j = columns; j < stride; ++j) {
        if (p[i * stride + j] != kCanary)
          return result->Fail("wrote outside the output", p[i * stride + j], 0, 0, place);
      }
    }
  }

 private:
  static constexpr size_t kMargin = 64;
  static constexpr int8_t kCanary = 0x5b;
  Guarded<float> floats_;
};

// Slopes for negative values, per channel; every other case has none.
class Slopes {
 public:
  const float* Take(size_t n, Random* random) {
    slopes_ = random->Below(2) == 0 ? nullptr : floats_.Take(n);
    for (size_t i = 0; slopes_ != nullptr && i < n; ++i) {
      const float some[] = {-1, 0, 0.1f, 0.25f, 1, random->Uniform(-1, 1)};
      slopes_[i] = some[random->Below(sizeof(some) / sizeof(*some))];
    }
    return slopes_;
  }
  float operator[](size_t i) const { return slopes_ == nullptr ? 1 : slopes_[i]; }
  bool exist() const { return slopes_ != nullptr; }

 private:
  Guarded<float> floats_;
  float* slopes_ = nullptr;
};

// The requantization rule in terms of the C library.
inline double Requantized(int64_t sum, float scale, int zero_point, int low, int high,
                          float slope = 1) {
  float product = static_cast<float>(static_cast<int32_t>(sum)) * scale;
  if (product < 0) product *= slope;
  return Clamp(nearbyintf(product) + static_cast<double>(zero_point), low, high);
}

class I8Check {
 protected:
  void Fill(int8_t* p, size_t n, int least) {
    for (size_t i = 0; i < n; ++i)
      p[i] = static_cast<int8_t>(least +
                                 static_cast<int>(random_.Below(static_cast<size_t>(128 - least))));
  }
  // Includes the extremes, at which 16-bit sums overflow first.
  void FillExtremes(int8_t* p, size_t n, int least) {
    Fill(p, n, least);
    if (random_.Below(3) == 0) memset(p, random_.Below(2) == 0 ? least : 127, n);
  }
  // Powers of two, so that many results are ties; and, without slopes, a few whose products exceed
  // 32 bits.
  float Scale(size_t depth) {
    if (!slopes_.exist() && random_.Below(300) == 0)
      return ldexpf(1, static_cast<int>(random_.Below(90)));
    const float scale = ldexpf(1, -static_cast<int>(random_.Below(6)) - 5);
    return random_.Below(2) == 0 ? scale
                                 : random_.Uniform(0.5f, 2) / static_cast<float>(40 * depth + 1);
  }

  GuardedI8 x_, w_, y_, scratch_;
  Guarded<float> bias_, scale_, floats_;
  Slopes slopes_;
  const int8_t* pointers_[4096];
  Random random_;
};

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_I8_H_
