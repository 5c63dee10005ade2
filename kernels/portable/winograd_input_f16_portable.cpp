#include "kernels/portable/vec_f16.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_input_f16_portable(const WinogradInputArgs<Half>& args) {
  InputOfAnyTile(args);
}
