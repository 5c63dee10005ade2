// A family with vectors, whose arguments and loop are trimtab's.
#ifndef EVERYTHING_KERNELS_GENERIC_BOUNDED_NEG_H_
#define EVERYTHING_KERNELS_GENERIC_BOUNDED_NEG_H_

#include "kernels/generic/family.h"
#include "kernels/generic/map.h"

namespace {

TRIMTAB_FAMILY(f32)
inline void BoundedNeg(const UnaryArgs<Element>& args) {
  Map(args, [](F x) { return Max(Set(0.0f) - x, Set(-1.0f)); });
}

}  // namespace

#endif  // EVERYTHING_KERNELS_GENERIC_BOUNDED_NEG_H_
