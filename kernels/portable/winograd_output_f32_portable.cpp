#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/winograd.h"

extern "C" void winograd_output_f32_portable(const WinogradOutputArgs<float>& args) {
  if (args.size == 4) return WinogradOutput<2, 4>(args);
  if (args.size == 5 && args.tile == 3) return WinogradOutput<3, 5>(args);
  if (args.size == 5) return WinogradOutput<4, 5>(args);
  if (args.size == 6) return WinogradOutput<4, 6>(args);
  if (args.tile == 4) return WinogradOutput<4, 8>(args);
  if (args.tile == 5) return WinogradOutput<5, 8>(args);
  WinogradOutput<6, 8>(args);
}
