#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_portable(const WinogradInputF32Args& args) {
  if (args.tile == 2) return WinogradInput<2, 1>(args);
  if (args.tile == 4) return WinogradInput<4, 1>(args);
  WinogradInput<6, 1>(args);
}
