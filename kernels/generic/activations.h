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

// The distribution function of the normal distribution is 1 / (1 + 2^(x q)). For |x| <= 5.6, q is a
// polynomial of x^2, and the error of the function is 1e-7. For larger |x|, the result is x or 0,
// with an error of 1e-8 of x.
inline F Gelu(F x) {
  const F square = Min(x * x, Set(31.36f));
  F q = Set(-1.0248016e-12f);
  q = Fma(q, square, Set(1.8111987e-10f));
  q = Fma(q, square, Set(-1.3429256e-8f));
  q = Fma(q, square, Set(5.4426135e-7f));
  q = Fma(q, square, Set(-1.2951485e-5f));
  q = Fma(q, square, Set(1.6636898e-4f));
  q = Fma(q, square, Set(8.0223304e-5f));
  q = Fma(q, square, Set(-1.0482431e-1f));
  q = Fma(q, square, Set(-2.3022113f));
  return Divide(x, OnePlusPowerOfTwo(x * q));
}

// x/2 (1 + tanh(u)) = x sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3).
inline F GeluTanh(F x) {
  return Divide(x, OnePlusPowerOfTwo(x * Fma(x * x, Set(-0.10294324f), Set(-2.3022082f))));
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ACTIVATIONS_H_
