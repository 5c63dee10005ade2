#include "kernels/generic/winograd_i8_lines.h"
#include "kernels/kernel_api.h"

// One channel at a time.
extern "C" void winograd_input_i8_portable(const WinogradInputArgs<int8_t>& args) {
  for (size_t c = 0; c < args.channels; ++c) {
    int32_t lines[kLineInputs][kLineInputs];
    for (size_t i = 0; i < kLineInputs; ++i) {
      int32_t x[kLineInputs];
      for (size_t j = 0; j < kLineInputs; ++j) x[j] = args.a[i * kLineInputs + j][c];
      IntegerInputLine(x, lines[i]);
    }
    for (size_t j = 0; j < kLineInputs; ++j) {
      int32_t x[kLineInputs], transformed[kLineInputs];
      for (size_t i = 0; i < kLineInputs; ++i) x[i] = lines[i][j];
      IntegerInputLine(x, transformed);
      for (size_t i = 0; i < kLineInputs; ++i)
        args.y[(i * kLineInputs + j) * args.y_stride + c] = static_cast<int16_t>(transformed[i]);
    }
  }
}
