// Average pooling.
#ifndef TRIMTAB_KERNELS_GENERIC_AVERAGE_POOL_H_
#define TRIMTAB_KERNELS_GENERIC_AVERAGE_POOL_H_

#include "kernels/generic/pool.h"

namespace {

TRIMTAB_FAMILY(f32, f16, needs(precision))
inline void AveragePool(const PoolArgs<Element>& args) {
  Pool(
      args, [](F sum, F x) { return sum + x; },
      [&](F sum, size_t p) { return sum * Set(args.scale[p]); });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_AVERAGE_POOL_H_
