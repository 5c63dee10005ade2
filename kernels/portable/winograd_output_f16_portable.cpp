#include "kernels/portable/vec_f16.h"

#include "kernels/portable/winograd_any.h"

extern "C" void winograd_output_f16_portable(const WinogradOutputArgs<Half>& args) {
  OutputOfAnyTile(args);
}
