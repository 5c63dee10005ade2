#include "kernels/portable/vec_scalar.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_output_f32_portable(const WinogradOutputArgs<float>& args) {
  OutputOfAnyTile(args);
}
