#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_input_f32_portable(const WinogradInputArgs<float>& args) {
  if (args.size == 4) return WinogradInput<4>(args);
  if (args.size == 5) return WinogradInput<5>(args);
  if (args.size == 6) return WinogradInput<6>(args);
  WinogradInput<8>(args);
}
