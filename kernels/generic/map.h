// The loop of element-wise functions of one operand, over vectors and a tail.
#ifndef TRIMTAB_KERNELS_GENERIC_MAP_H_
#define TRIMTAB_KERNELS_GENERIC_MAP_H_

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

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_MAP_H_
