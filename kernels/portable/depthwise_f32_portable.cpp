#include "kernels/kernel_api.h"

extern "C" void depthwise_f32_portable(const DepthwiseF32Args& args) {
  const size_t nr = args.nr;
  for (size_t p = 0; p < args.pixels; ++p) {
    const float* const* a = args.a + p * args.a_step;
    for (size_t c = 0; c < args.channels; ++c) {
      const float* w = args.w + c / nr * args.taps * nr + c % nr;
      float v = args.bias != nullptr ? args.bias[c] : 0.0f;
      for (size_t t = 0; t < args.taps; ++t) v += a[t][c] * w[t * nr];
      v = args.clamp_min > v ? args.clamp_min : v;
      v = args.clamp_max < v ? args.clamp_max : v;
      args.y[p * args.y_stride + c] = v;
    }
  }
}
