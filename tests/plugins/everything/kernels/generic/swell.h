// A family with arguments of its own, in plain C++ only.
#ifndef EVERYTHING_KERNELS_GENERIC_SWELL_H_
#define EVERYTHING_KERNELS_GENERIC_SWELL_H_

#include "kernels/generic/family.h"
#include "kernels/generic/swell_args.h"

namespace {

TRIMTAB_FAMILY(f32, portable)
inline void Swell(const SwellArgs<Element>& args) {
  for (size_t i = 0; i < args.n; ++i) {
    const Element x = args.x[i];
    args.y[i] = x * (1 + args.gain * (x < 0 ? -x : x));
  }
}

}  // namespace

#endif  // EVERYTHING_KERNELS_GENERIC_SWELL_H_
