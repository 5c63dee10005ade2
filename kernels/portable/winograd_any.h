// Winograd transforms of any tile.
#ifndef TRIMTAB_KERNELS_PORTABLE_WINOGRAD_ANY_H_
#define TRIMTAB_KERNELS_PORTABLE_WINOGRAD_ANY_H_

#include "kernels/generic/winograd.h"

namespace {

inline void InputOfAnyTile(const WinogradInputArgs<Element>& args) {
  if (args.size == 4) return WinogradInput<4>(args);
  if (args.size == 5 && args.tile == 2) return WinogradInput<2, 5>(args);
  if (args.size == 5) return WinogradInput<5>(args);
  if (args.size == 6) return WinogradInput<6>(args);
  if (args.size == 7) return WinogradInput<7>(args);
  WinogradInput<8>(args);
}

inline void OutputOfAnyTile(const WinogradOutputArgs<Element>& args) {
  if (args.size == 4) return WinogradOutput<2, 4>(args);
  if (args.size == 5 && args.tile == 2) return WinogradOutput<2, 5>(args);
  if (args.size == 5 && args.tile == 3) return WinogradOutput<3, 5>(args);
  if (args.size == 5) return WinogradOutput<4, 5>(args);
  if (args.size == 6 && args.tile == 2) return WinogradOutput<2, 6>(args);
  if (args.size == 6 && args.tile == 3) return WinogradOutput<3, 6>(args);
  if (args.size == 6) return WinogradOutput<4, 6>(args);
  if (args.size == 7) return WinogradOutput<5, 7>(args);
  if (args.tile == 4) return WinogradOutput<4, 8>(args);
  if (args.tile == 5) return WinogradOutput<5, 8>(args);
  WinogradOutput<6, 8>(args);
}

inline void WeightsOfAnyTile(const WinogradWeightsArgs<Element>& args) {
  if (args.size == 4) return WinogradWeights<2, 4>(args);
  if (args.size == 5 && args.tile == 2) return WinogradWeights<2, 5>(args);
  if (args.size == 5 && args.tile == 3) return WinogradWeights<3, 5>(args);
  if (args.size == 5) return WinogradWeights<4, 5>(args);
  if (args.size == 6 && args.tile == 2) return WinogradWeights<2, 6>(args);
  if (args.size == 6 && args.tile == 3) return WinogradWeights<3, 6>(args);
  if (args.size == 6) return WinogradWeights<4, 6>(args);
  if (args.size == 7) return WinogradWeights<5, 7>(args);
  if (args.tile == 4) return WinogradWeights<4, 8>(args);
  if (args.tile == 5) return WinogradWeights<5, 8>(args);
  WinogradWeights<6, 8>(args);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_WINOGRAD_ANY_H_
