// The loop of element-wise functions of one operand, over vectors and a tail.
#ifndef TRIMTAB_KERNELS_GENERIC_MAP_H_
#define TRIMTAB_KERNELS_GENERIC_MAP_H_

#include "kernels/generic/side_by_side.h"
#include "kernels/kernel_api.h"

namespace {

// y[i] = f(x[i]): vectors side by side, whose loop takes half as many instructions a vector, then
// what they leave, by one more copy of the function for whole vectors and parts.
template <typename Function>
inline void Map(const UnaryArgs<Element>& args, const Function& f) {
  constexpr size_t kStep = kSideBySide * kLanes;
  const Element* x = args.x;
  Element* y = args.y;
  size_t left = args.n;
  TRIMTAB_NO_UNROLL
  for (; left >= kStep; left -= kStep) {
    F side[kSideBySide];
    LoadStep(x, kStep, side);
    TRIMTAB_UNROLL
    for (int v = 0; v < kSideBySide; ++v) side[v] = f(side[v]);
    StoreStep(y, kStep, side);
  }
  TRIMTAB_NO_UNROLL
  while (left > 0) {
    const size_t count = left < kLanes ? left : kLanes;
    F part = LoadPart(x, count);
    Settle(part);  // or there is a copy of the function for every count
    StorePart(y, f(part), count);
    x += count;
    y += count;
    left -= count;
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_MAP_H_
