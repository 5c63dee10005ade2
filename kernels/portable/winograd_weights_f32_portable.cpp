#include "kernels/portable/vec_scalar.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_weights_f32_portable(const WinogradWeightsArgs<float>& args) {
  WeightsOfAnyTile(args);
}
