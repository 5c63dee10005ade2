// Arguments of kernels that compute a step of an optimizer.
#ifndef TRIMTAB_KERNELS_UPDATE_STEP_H_
#define TRIMTAB_KERNELS_UPDATE_STEP_H_

#include <stddef.h>

// A step of an optimizer for n elements of a parameter x[0], whose states are x[1] and x[2]: y[j] is
// the next value of x[j], and may be x[j] or `gradient`. With
//
//   g = gradient * scale + decay * (signs ? sign(x[0]) : x[0])
//
//   sgd_update:   y1 = momentum * x1 + rate * g; y0 = x0 - y1 - lookahead * (y1 - x1)
//                 without x[1]: y0 = x0 - rate * g
//   adam_update:  y1 = momentum * x1 + (1 - momentum) * g
//                 y2 = momentum2 * x2 + (1 - momentum2) * g * g
//                 y0 = x0 - rate * y1 / (sqrt(y2) + delta)
template <typename T>
struct UpdateArgs {
  const T* gradient;
  const T* x[3];  // null: no such state
  T* y[3];
  size_t n;
  float rate, scale, decay;
  float momentum, momentum2, delta, lookahead;
  bool signs;
};

#endif  // TRIMTAB_KERNELS_UPDATE_STEP_H_
