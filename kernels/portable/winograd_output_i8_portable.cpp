#include "kernels/generic/requantize.h"
#include "kernels/generic/winograd_i8_lines.h"
#include "kernels/kernel_api.h"

// One channel at a time.
extern "C" void winograd_output_i8_portable(const WinogradOutputArgs<int8_t>& args) {
  for (size_t c = 0; c < args.channels; ++c) {
    uint32_t lines[kLineInputs][kLineOutputs];
    for (size_t j = 0; j < kLineInputs; ++j) {
      uint32_t x[kLineInputs];
      for (size_t i = 0; i < kLineInputs; ++i)
        x[i] = static_cast<uint32_t>(args.x[(i * kLineInputs + j) * args.x_stride + c]);
      IntegerOutputLine(x, lines[j]);
    }
    for (size_t i = 0; i < args.rows; ++i) {
      uint32_t x[kLineInputs], sums[kLineOutputs];
      for (size_t j = 0; j < kLineInputs; ++j) x[j] = lines[j][i];
      IntegerOutputLine(x, sums);
      for (size_t j = 0; j < args.columns; ++j) {
        const int32_t sum = static_cast<int32_t>(sums[j] * kInverseOfNine) >> kShift;
        args.y[i * args.row_stride + j * args.pixel_stride + c] =
            Requantize(args, sum + args.bias[c], c);
      }
    }
  }
}
