// Arguments of kernels that normalize rows or columns.
#ifndef TRIMTAB_KERNELS_NORMALIZATION_H_
#define TRIMTAB_KERNELS_NORMALIZATION_H_

#include <stddef.h>
#include <stdint.h>

// Softmax or log-softmax of one row of n elements; x == y is allowed.
template <typename T>
struct SoftmaxArgs {
  const T* x;
  T* y;
  size_t n;
};

// Softmax of each of `columns` >= 1 adjacent columns over n >= 1 rows that are `stride` elements
// apart; x == y is allowed. arg_max writes one row: the bits of the int32 index of the largest
// element of each column, the first of equal ones. NaN is never larger, and nothing is larger than
// NaN in the first row.
template <typename T>
struct SoftmaxColumnsArgs {
  const T* x;
  T* y;
  size_t n, stride, columns;
};

// One row of n >= 1 elements, normalized by its own mean and variance:
//
//   y[i] = (x[i] - mean) / sqrt(variance + epsilon) * scale[i * step] + bias[i * step]
//
// with a step of 0 (one scale and bias) or 1; x == y is allowed.
template <typename T>
struct NormalizeArgs {
  const T* x;
  const T* scale;
  const T* bias;  // may be null
  T* y;
  size_t n;
  float epsilon;
  uint8_t step;
};

#endif  // TRIMTAB_KERNELS_NORMALIZATION_H_
