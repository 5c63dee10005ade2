// Activations made of elementary functions, written once over the primitives of a vec_<isa>.h.
// Formulas: runtime/ops/<op>.toml.
#ifndef TRIMTAB_KERNELS_GENERIC_ACTIVATIONS_H_
#define TRIMTAB_KERNELS_GENERIC_ACTIVATIONS_H_

#include "kernels/generic/math.h"

namespace {

inline F Elu(F x, F alpha) { return Select(Less(x, Set(0.0f)), alpha * ExpMinusOne(x), x); }

// `scale` is LogisticScale(alpha).
inline F Swish(F x, F scale) { return Divide(x, OnePlusPowerOfTwo(x * scale)); }

// tanh(ln(1 + e)) = w / (w + 2) with w = e (e + 2); from x = 20 on the quotient is 1 in float32.
inline F Mish(F x) {
  const F e = ExpNormal(Min(x, Set(20.0f)));
  const F w = e * (e + Set(2.0f));
  return x * Divide(w, w + Set(2.0f));
}

inline F Softplus(F x) { return Max(x, Set(0.0f)) + LogOnePlus(Exp(Set(0.0f) - Abs(x))); }

inline F Gelu(F x) {
  const F half = x * Set(0.5f);
  return Fma(half, Erf(x * Set(0.70710678f)), half);
}

// x/2 (1 + tanh(u)) = x sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3).
inline F GeluTanh(F x) {
  return Divide(x, OnePlusPowerOfTwo(x * Fma(x * x, Set(-0.10294324f), Set(-2.3022082f))));
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ACTIVATIONS_H_
