// Common parts of the kernel checks: memory that detects stray accesses, random numbers, and
// comparison with float64.
#ifndef TRIMTAB_TESTS_KERNELS_CHECK_SUPPORT_H_
#define TRIMTAB_TESTS_KERNELS_CHECK_SUPPORT_H_

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/half.h"

namespace check {

// The unit roundoff of an element type, in which kernels may compute, and the absolute error of
// underflow: Armv7 vectors flush float32 denormals, f16 results are rounded to denormals.
template <typename T>
constexpr double kUnit = 0;
template <>
inline constexpr double kUnit<float> = 1.0 / (1 << 24);
template <>
inline constexpr double kUnit<Half> = 1.0 / (1 << 11);
template <typename T>
constexpr double kSmallest = 0;
template <>
inline constexpr double kSmallest<float> = 1.1754943508222875e-38;
template <>
inline constexpr double kSmallest<Half> = 1.0 / (1 << 24);

template <typename T>
double Value(T x) {
  return static_cast<double>(static_cast<float>(x));
}

// The outcome of one kernel's checks. `worst`: the largest error relative to its tolerance.
struct Result {
  int cases = 0;
  int failures = 0;
  double worst = 0;
  char first[160] = "";

  void Fail(const char* what, double found, double expected, double allowed, const char* place) {
    if (failures++ == 0) {
      snprintf(first, sizeof(first), "%s: found %.9g, expected %.9g +- %.3g, %s", what, found,
               expected, allowed, place);
    }
  }

  // Requires |found - expected| <= allowed; infinities must be equal, and NaN must stay NaN.
  void Compare(double found, double expected, double allowed, const char* place) {
    if (isnan(expected) ? isnan(found) : found == expected) return;
    const double error = fabs(found - expected);
    if (error <= allowed) {
      if (error / allowed > worst) worst = error / allowed;
      return;
    }
    Fail("wrong value", found, expected, allowed, place);
  }
};

// A buffer between inaccessible pages, so that an access past its ends crashes.
template <typename T>
class Guarded {
 public:
  Guarded() {
    void* const mapped =
        mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) abort();
    char* const begin = static_cast<char*>(mapped) + kPage;
    if (mprotect(begin, kBytes, PROT_READ | PROT_WRITE) != 0) abort();
    end_ = reinterpret_cast<T*>(begin + kBytes);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(reinterpret_cast<char*>(end_) - kBytes - kPage, kBytes + 2 * kPage); }

  // The first n elements: an access in front of them crashes.
  T* TakeFirst(size_t n) const {
    if (n > kBytes / sizeof(T)) abort();
    return end_ - kBytes / sizeof(T);
  }

  // The last n elements.
  T* Take(size_t n) const {
    if (n + kMargin > kBytes / sizeof(T)) abort();
    return end_ - n;
  }

  // The same, filled with a canary, as is the margin in front.
  T* TakeOutput(size_t n) const {
    T* p = Take(n);
    for (T* q = p - kMargin; q < end_; ++q) memcpy(q, &kCanary, sizeof(T));
    return p;
  }

  static bool IsCanary(const T* p) { return memcmp(p, &kCanary, sizeof(T)) == 0; }

  // Everything outside of rows x columns at `stride`, and the margin in front, must be as
  // TakeOutput left it.
  void CheckUntouched(const T* p, size_t rows, size_t columns, size_t stride, Result* result,
                      const char* place) const {
    for (const T* q = p - kMargin; q < p; ++q) {
      if (!IsCanary(q)) return result->Fail("wrote in front of the output", Value(*q), 0, 0, place);
    }
    for (const T* q = p; q < end_; ++q) {
      const size_t i = static_cast<size_t>(q - p);
      const bool inside = stride == 0 ? i < columns : i / stride < rows && i % stride < columns;
      if (!inside && !IsCanary(q))
        return result->Fail("wrote outside the output", Value(*q), 0, 0, place);
    }
  }

 private:
  static constexpr size_t kPage = 65536;  // the largest page size of the targets
  static constexpr size_t kBytes = 2 << 20;
  static constexpr size_t kMargin = 64;
  // A NaN that no computation produces, also in its first bytes.
  static constexpr uint32_t kCanary = sizeof(T) == 2 ? 0x7DA57DA5 : 0x7FA5C3D2;

  T* end_;
};

class Random {
 public:
  uint32_t Bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  size_t Below(size_t n) { return Bits() % n; }
  float Uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(Bits() >> 8) * 0x1p-24f);
  }
  template <typename T>
  void Fill(T* p, size_t n, float low = -1.0f, float high = 1.0f) {
    for (size_t i = 0; i < n; ++i) p[i] = Uniform(low, high);
  }

 private:
  uint32_t state_ = 2463534242u;
};

inline double Clamp(double v, double low, double high) {
  return v < low ? low : v > high ? high : v;
}

}  // namespace check

#endif  // TRIMTAB_TESTS_KERNELS_CHECK_SUPPORT_H_
