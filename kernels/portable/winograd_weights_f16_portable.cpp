#include "kernels/portable/vec_f16.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_weights_f16_portable(const WinogradWeightsArgs<Half>& args) {
  WeightsOfAnyTile(args);
}
