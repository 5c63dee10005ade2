// One-dimensional transforms of Winograd convolution F(4, 3) in integer arithmetic: B^T of the
// points 0, 1, -1, 2, -2 and infinity, A^T with 4 in its last column (WinogradOutputArgs<int8_t>).
// V: integers, or vectors of them.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_LINES_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_LINES_H_

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr size_t kLineOutputs = 4, kLineInputs = 6;

// Divides sums by 9 modulo 2^32; they are 576 = 2^6 * 9 times as large.
constexpr uint32_t kInverseOfNine = 0x38e38e39;
constexpr int kShift = 6;
static_assert(9 * kInverseOfNine == 1 && (9 << kShift) == 24 * 24,
              "the inverse of 576, in two steps");

template <typename V>
inline void IntegerInputLine(const V (&x)[kLineInputs], V (&y)[kLineInputs]) {
  const V even = x[4] - x[2], odd = x[3] - x[1];
  y[0] = 4 * (x[0] - x[2]) + even;
  y[3] = even + 2 * odd;
  y[4] = even - 2 * odd;
  y[5] = x[5] - x[3] - 4 * odd;
  const V even1 = x[4] - 4 * x[2], odd1 = x[3] - 4 * x[1];
  y[1] = even1 + odd1;
  y[2] = even1 - odd1;
}

template <typename V>
inline void IntegerOutputLine(const V (&x)[kLineInputs], V (&y)[kLineOutputs]) {
  const V sum1 = x[1] + x[2], difference1 = x[1] - x[2];
  const V sum2 = x[3] + x[4], difference2 = x[3] - x[4];
  y[0] = x[0] + sum1 + sum2;
  y[1] = difference1 + 2 * difference2;
  y[2] = sum1 + 4 * sum2;
  y[3] = difference1 + 8 * difference2 + 4 * x[5];
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_LINES_H_
