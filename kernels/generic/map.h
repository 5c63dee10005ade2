// The loop of element-wise functions of one operand, over vectors.
#ifndef TRIMTAB_KERNELS_GENERIC_MAP_H_
#define TRIMTAB_KERNELS_GENERIC_MAP_H_

#include "kernels/generic/vector_groups.h"
#include "kernels/kernel_api.h"

namespace {

// y[i] = f(x[i]): several vectors per iteration, which halves the instructions per vector. The
// remainder goes through a buffer and the same loop: a function may have thirty constants, which a
// second loop would load again.
template <typename Function>
inline void Map(const UnaryArgs<Element>& args, const Function& f) {
  const size_t rest = args.n % kStep;
  const Element* x = args.x;
  Element* y = args.y;
  Element buffer[kStep];
  size_t left = args.n - rest;
  for (bool last = rest == 0;; last = true) {
    TRIMTAB_NO_UNROLL
    for (; left > 0; left -= kStep) {
      F group[kVectorsPerAccess];
      LoadAndAdvance(x, kStep, group);
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) group[v] = f(group[v]);
      StoreAndAdvance(y, kStep, group);
    }
    if (last) break;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < kStep; ++i) buffer[i] = x[i < rest ? i : 0];
    x = y = buffer;
    left = kStep;
  }
  Element* const end = args.y + (args.n - rest);
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < rest; ++i) end[i] = buffer[i];
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_MAP_H_
