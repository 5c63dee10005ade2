// Swish computed in f16.
#include "kernels/arm/times_logistic.h"
#include "kernels/generic/map.h"

extern "C" void swish_f16_neonfp16(const UnaryArgs<Half>& args) {
  const F alpha = Set(args.alpha);
  Map(args, [=](F x) {
    const float16x8_t z = (x * alpha).v;
    return TimesLogistic(x, {vabsq_f16(z)}, vcltzq_f16(z));
  });
}
