// Element-wise functions of one operand: the loop over vectors and a tail, and the families.
#ifndef TRIMTAB_KERNELS_GENERIC_UNARY_H_
#define TRIMTAB_KERNELS_GENERIC_UNARY_H_

#include "kernels/generic/activations.h"
#include "kernels/generic/family.h"
#include "kernels/kernel_api.h"

namespace {

// y[i] = f(x[i]). The function is instantiated once: code size counts more than a predicted branch
// per vector.
template <typename Function>
inline void Map(const UnaryArgs<Element>& given, const Function& f) {
  const UnaryArgs<Element> args = given;  // a copy that stores to y cannot change
  for (size_t i = 0; i < args.n; i += kLanes) {
    const size_t count = args.n - i;
    if (count >= kLanes) {
      Store(args.y + i, f(Load(args.x + i)));
    } else {
      StorePart(args.y + i, f(LoadPart(args.x + i, count)), count);
    }
  }
}

TRIMTAB_FAMILY(f32, portable)
inline void Abs(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Abs(x); });
}

TRIMTAB_FAMILY(f32)
inline void Clip(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return Clamp(x, alpha, beta); });
}

TRIMTAB_FAMILY(f32)
inline void Elu(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) { return Elu(x, alpha); });
}

TRIMTAB_FAMILY(f32)
inline void Erf(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Erf(x); });
}

TRIMTAB_FAMILY(f32)
inline void Exp(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Exp(x); });
}

TRIMTAB_FAMILY(f32)
inline void Gelu(const UnaryArgs<Element>& args) {
  if (args.alpha == 0.0f) {
    Map(args, [](F x) { return Gelu(x); });
  } else {
    Map(args, [](F x) { return GeluTanh(x); });
  }
}

TRIMTAB_FAMILY(f32)
inline void HardSigmoid(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha), beta = Set(args.beta);
  Map(args, [=](F x) { return HardSigmoid(x, alpha, beta); });
}

TRIMTAB_FAMILY(f32)
inline void HardSwish(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return HardSwish(x); });
}

TRIMTAB_FAMILY(f32)
inline void LeakyRelu(const UnaryArgs<Element>& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) { return LeakyRelu(x, alpha); });
}

TRIMTAB_FAMILY(f32, portable)
inline void Log(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Log(x); });
}

TRIMTAB_FAMILY(f32)
inline void Mish(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Mish(x); });
}

TRIMTAB_FAMILY(f32)
inline void Sigmoid(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Sigmoid(x); });
}

TRIMTAB_FAMILY(f32, portable)
inline void Softplus(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Softplus(x); });
}

TRIMTAB_FAMILY(f32)
inline void Swish(const UnaryArgs<Element>& args) {
  const F scale = LogisticScale(args.alpha);
  Map(args, [=](F x) { return Swish(x, scale); });
}

TRIMTAB_FAMILY(f32)
inline void Tanh(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Tanh(x); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_UNARY_H_
