#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_weights_f32_portable(const WinogradWeightsArgs<float>& args) {
  if (args.size == 4) return WinogradWeights<2, 4>(args);
  if (args.size == 5 && args.tile == 3) return WinogradWeights<3, 5>(args);
  if (args.size == 5) return WinogradWeights<4, 5>(args);
  if (args.size == 6) return WinogradWeights<4, 6>(args);
  if (args.tile == 4) return WinogradWeights<4, 8>(args);
  if (args.tile == 5) return WinogradWeights<5, 8>(args);
  WinogradWeights<6, 8>(args);
}
