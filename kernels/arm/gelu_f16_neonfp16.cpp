// GELU computed in f16: x times a logistic function of z, which is x by a polynomial of x^2.
#include "kernels/arm/times_logistic.h"
#include "kernels/generic/map.h"

namespace {

// |z| / |x|, from the coefficients of 1, (x / 4)^2, ... for |x| <= 6.4, where z is beyond 22.
template <int kCoefficients>
inline F Gelu(F x, const float (&coefficients)[kCoefficients]) {
  const F size = Min({vabsq_f16(x.v)}, Set(6.4f));
  const F square = size * Set(0.0625f) * size;
  F q = Set(coefficients[kCoefficients - 1]);
  TRIMTAB_UNROLL
  for (int i = kCoefficients - 2; i >= 0; --i) q = Fma(q, square, Set(coefficients[i]));
  return TimesLogistic(x, size * q, vcltzq_f16(x.v));
}

// ln(F / (1 - F)) / x, with F the distribution function of the normal distribution: 3e-4 + 3e-4 |z|
// of z, weighted least squares as in kernels/generic/math.h.
constexpr float kErf[] = {1.5953779f, 1.1966178f, -0.23053268f, 0.029289988f};
// The approximation by tanh is one of z: 2 sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kTanh[] = {1.5957691f, 1.1416771f};

}  // namespace

extern "C" void gelu_f16_neonfp16(const UnaryArgs<Half>& args) {
  if (args.alpha == 0.0f) {
    Map(args, [](F x) { return Gelu(x, kErf); });
  } else {
    Map(args, [](F x) { return Gelu(x, kTanh); });
  }
}
