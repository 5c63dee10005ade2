#include "kernels/generic/requantize.h"
#include "kernels/kernel_api.h"

// Any tile, one result at a time.
extern "C" void paired_gemm_i8_portable(const PairedGemmArgs<int8_t>& args) {
  constexpr size_t kDots = 4;
  const size_t nr = args.nr, mr = args.mr, step_bytes = sizeof(PairedStep) + kPairedDepth * nr;
  for (size_t column = 0; column < args.columns; ++column) {
    const size_t in_panel = column % nr;
    const int8_t* const panel = args.w + column / nr * args.steps * step_bytes;
    for (size_t i = 0; i < args.rows; ++i) {
      int32_t sum = args.bias[column];
      const int8_t* w = panel;
      PairedStep step;
      __builtin_memcpy(&step, w, sizeof(step));
      for (size_t left = step.count; left > 0; --left, w += step_bytes) {
        __builtin_memcpy(&step, w, sizeof(step));
        const size_t tap = step.base / args.k, base = step.base % args.k;
        const int8_t* const a = args.a[(i / mr * args.taps + tap) * mr + i % mr] + base;
        const int8_t* const weights = w + sizeof(step) + in_panel * kDots;
        for (size_t p = 0; p < kPairedDepth; ++p)
          sum += (a[step.index[p]] + 128) * weights[p / kDots * nr * kDots + p % kDots];
      }
      const size_t at = i * args.c_stride + column;
      if (args.dequantized != nullptr) {
        args.dequantized[at] = static_cast<float>(sum) * args.scale[column];
      } else {
        args.c[at] = Requantize(args, sum, column);
      }
    }
  }
}
