#include <arm_neon.h>

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// 16 * kVectors channels of all pixels.
template <int kVectors>
inline void Pool(const PoolArgs<int8_t>& args, size_t c) {
  const size_t taps = args.kernel_h * args.kernel_w;
  const int8_t* const* a = args.a;
  int8_t* y = args.y + c;
  for (size_t p = args.pixels; p > 0; --p, y += args.y_stride) {
    int8x16_t maximum[kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) maximum[v] = vld1q_s8(a[0] + c + 16 * v);
    TRIMTAB_NO_UNROLL
    for (size_t t = 1; t < taps; ++t) {
      const int8_t* const x = a[t] + c;
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectors; ++v) maximum[v] = vmaxq_s8(maximum[v], vld1q_s8(x + 16 * v));
    }
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) vst1q_s8(y + 16 * v, maximum[v]);
    a += args.step_w * args.kernel_h;
  }
}

}  // namespace

// The last vectors of channels overlap the previous ones.
extern "C" void max_pool_i8_neon(const PoolArgs<int8_t>& args) {
  const size_t channels = args.channels;
  size_t c = 0;
  for (; c + 64 <= channels; c += 64) Pool<4>(args, c);
  for (; channels >= 16 && c < channels; c += 16)
    Pool<1>(args, c + 16 <= channels ? c : channels - 16);
  for (; c < channels; ++c) {
    const int8_t* const* a = args.a;
    for (size_t p = 0; p < args.pixels; ++p, a += args.step_w * args.kernel_h) {
      int8_t maximum = a[0][c];
      for (size_t t = 1; t < args.kernel_h * args.kernel_w; ++t)
        maximum = a[t][c] > maximum ? a[t][c] : maximum;
      args.y[p * args.y_stride + c] = maximum;
    }
  }
}
