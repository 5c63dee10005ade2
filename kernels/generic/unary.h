// Element-wise functions of one operand that decompose floats.
#ifndef TRIMTAB_KERNELS_GENERIC_UNARY_H_
#define TRIMTAB_KERNELS_GENERIC_UNARY_H_

#include "kernels/generic/activations.h"
#include "kernels/generic/family.h"
#include "kernels/generic/map.h"

namespace {

TRIMTAB_FAMILY(f32, f16, portable)
inline void Abs(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Abs(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Ceil(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Ceil(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Cos(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Cos(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Elu(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) { return Elu(x, alpha); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void HardShrink(const UnaryArgs<Element>& args) {
  const F high = Set(args.alpha), low = Set(-args.alpha), bias = Set(args.beta);
  Map(args, [=](F x) {
    const F below = Select(Less(x, low), x + bias, x - x);  // 0, and NaN of NaN
    return Select(Less(high, x), x - bias, below);
  });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Celu(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha), scale = Set(1.0f / args.alpha);
  Map(args, [=](F x) { return Select(Less(x, Set(0.0f)), alpha * ExpMinusOne(x * scale), x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Erf(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Erf(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Exp(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Exp(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Floor(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Floor(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Gelu(const UnaryArgs<Element>& args) {
  if (args.alpha == 0.0f) {
    Map(args, [](F x) { return Gelu(x); });
  } else {
    Map(args, [](F x) { return GeluTanh(x); });
  }
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Log(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Log(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Mish(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Mish(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Round(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Round(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Sigmoid(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Sigmoid(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Sin(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Sin(x); });
}

TRIMTAB_FAMILY(f32, f16, portable)
inline void Softplus(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Softplus(x); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Softsign(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Divide(x, Set(1.0f) + Abs(x)); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Swish(const UnaryArgs<Element>& args) {
  const F scale = LogisticScale(args.alpha);
  Map(args, [=](F x) { return Swish(x, scale); });
}

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void Tanh(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Tanh(x); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_UNARY_H_
