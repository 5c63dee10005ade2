// Steps of optimizers: one pass over a parameter, its gradient and its states. No product is left to
// the compiler to fuse: all machines with fused multiply-add compute the same values.
#ifndef TRIMTAB_KERNELS_GENERIC_UPDATE_H_
#define TRIMTAB_KERNELS_GENERIC_UPDATE_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Calls step(g, x) for vectors of the gradient, with its decay, and of kValues values, which it
// changes to the next ones.
template <int kValues, typename Step>
inline void UpdateEach(const UpdateArgs<Element>& original, const Step& step) {
  const UpdateArgs<Element> args = original;  // stores to y might alias it
  const F scale = Set(args.scale), decay = Set(args.decay), zero = Set(0.0f);
  TRIMTAB_NO_UNROLL
  for (size_t i = 0, count; i < args.n; i += count) {
    count = args.n - i < kLanes ? args.n - i : kLanes;
    const auto load = [=](const Element* p) {
      return count == kLanes ? Load(p + i) : LoadPartial(p + i, count);
    };
    F x[kValues];
    TRIMTAB_UNROLL
    for (int j = 0; j < kValues; ++j) x[j] = load(args.x[j]);
    F decayed = x[0];
    if (args.signs) {
      const F signs = Select(Less(decayed, zero), Set(-1.0f), zero);
      decayed = Select(Less(zero, decayed), Set(1.0f), signs);
    }
    step(Fma(decayed, decay, load(args.gradient) * scale), x);
    TRIMTAB_UNROLL
    for (int j = 0; j < kValues; ++j) {
      if (count == kLanes)
        Store(args.y[j] + i, x[j]);
      else
        StorePartial(args.y[j] + i, x[j], count);
    }
  }
}

TRIMTAB_FAMILY(f32)
inline void SgdUpdate(const UpdateArgs<Element>& args) {
  const F rate = Set(args.rate), momentum = Set(args.momentum), lookahead = Set(args.lookahead);
  if (args.x[1] == nullptr) {
    const F back = Set(-args.rate);
    return UpdateEach<1>(args, [=](F g, F(&x)[1]) { x[0] = Fma(back, g, x[0]); });
  }
  UpdateEach<2>(args, [=](F g, F(&x)[2]) {
    const F moved = Fma(momentum, x[1], rate * g);
    x[0] = x[0] - Fma(lookahead, moved - x[1], moved);
    x[1] = moved;
  });
}

TRIMTAB_FAMILY(f32)
inline void AdamUpdate(const UpdateArgs<Element>& args) {
  const F rate = Set(args.rate), delta = Set(args.delta);
  const F momentum = Set(args.momentum), momentum2 = Set(args.momentum2);
  const F rest = Set(1 - args.momentum), rest2 = Set(1 - args.momentum2);
  UpdateEach<3>(args, [=](F g, F(&x)[3]) {
    x[1] = Fma(momentum, x[1], rest * g);
    x[2] = Fma(momentum2, x[2], rest2 * (g * g));
    x[0] = x[0] - Divide(rate * x[1], Sqrt(x[2]) + delta);
  });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_UPDATE_H_
