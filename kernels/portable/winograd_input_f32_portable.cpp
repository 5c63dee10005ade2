#include "kernels/portable/vec_scalar.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_input_f32_portable(const WinogradInputArgs<float>& args) {
  InputOfAnyTile(args);
}
