// Arg max along an axis that is not the last one in memory: each lane searches a column.
#ifndef TRIMTAB_KERNELS_GENERIC_ARG_MAX_H_
#define TRIMTAB_KERNELS_GENERIC_ARG_MAX_H_

#include "kernels/generic/softmax_columns.h"
#include "kernels/generic/unroll.h"

namespace {

// Columns of kVectors vectors, of which the last has `count` columns. Vectors do not wait for each
// other.
template <int kVectors>
inline void SearchColumns(const Element* x, Element* y, const SoftmaxColumnsArgs<Element>& args,
                          size_t count) {
  F best[kVectors], at[kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    best[v] = LoadColumns(x + v * kLanes, v + 1 < kVectors ? kLanes : count);
    at[v] = FromBits(SetBits(0));
  }
  for (size_t i = 1; i < args.n; ++i) {
    x += args.stride;
    const F index = FromBits(SetBits(static_cast<uint32_t>(i)));
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const F value = LoadColumns(x + v * kLanes, v + 1 < kVectors ? kLanes : count);
      const M wins = Less(best[v], value);
      best[v] = Select(wins, value, best[v]);
      at[v] = Select(wins, index, at[v]);
    }
  }
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v)
    StoreColumns(y + v * kLanes, at[v], v + 1 < kVectors ? kLanes : count);
}

TRIMTAB_FAMILY(f32)
inline void ArgMax(const SoftmaxColumnsArgs<Element>& args) {
  constexpr size_t kFour = 4 * kLanes;
  size_t c = 0;
  for (; args.columns - c >= kFour; c += kFour)
    SearchColumns<4>(args.x + c, args.y + c, args, kLanes);
  for (; c < args.columns; c += kLanes) {
    const size_t left = args.columns - c;
    SearchColumns<1>(args.x + c, args.y + c, args, left < kLanes ? left : kLanes);
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ARG_MAX_H_
