// The exponentials of a softmax.
#ifndef TRIMTAB_KERNELS_GENERIC_SOFTMAX_TERMS_H_
#define TRIMTAB_KERNELS_GENERIC_SOFTMAX_TERMS_H_

#include "kernels/generic/math.h"
#include "kernels/kernel_api.h"

namespace {

// e^(x - maximum) for x <= maximum, as exact as the element type.
class SoftmaxTerms {
 public:
  explicit SoftmaxTerms(F maximum) : shift_(kHalf ? maximum * Set(-kLog2E) : maximum) {}

  F Of(F x) const { return kHalf ? PowerForF16(x, shift_) : ExpNegative(x - shift_); }

 private:
  static constexpr bool kHalf = sizeof(Element) == sizeof(Half);

  F shift_;
};

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_SOFTMAX_TERMS_H_
