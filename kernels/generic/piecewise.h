// Piecewise linear element-wise functions of one operand.
#ifndef TRIMTAB_KERNELS_GENERIC_PIECEWISE_H_
#define TRIMTAB_KERNELS_GENERIC_PIECEWISE_H_

#include "kernels/generic/family.h"
#include "kernels/generic/map.h"

namespace {

inline F Clamp(F x, F low, F high) { return Min(Max(x, low), high); }

inline F LeakyRelu(F x, F slope) { return Select(Less(x, Set(0.0f)), x * slope, x); }

inline F HardSigmoid(F x, F alpha, F beta) {
  return Clamp(Fma(x, alpha, beta), Set(0.0f), Set(1.0f));
}

inline F HardSwish(F x) { return x * HardSigmoid(x, Set(1.0f / 6.0f), Set(0.5f)); }

TRIMTAB_FAMILY(f32, f16)
inline void Clip(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return Clamp(x, alpha, beta); });
}

TRIMTAB_FAMILY(f32, f16)
inline void HardSigmoid(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return HardSigmoid(x, alpha, beta); });
}

TRIMTAB_FAMILY(f32, f16)
inline void HardSwish(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return HardSwish(x); });
}

TRIMTAB_FAMILY(f32, f16)
inline void LeakyRelu(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) { return LeakyRelu(x, alpha); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_PIECEWISE_H_
