#include "kernels/kernel_api.h"

// n multiply-adds in enough independent sums for a compiler to vectorize: the limit of portable
// code. x: 64 floats.
extern "C" void peak_f32_portable(const UnaryArgs<float>& args) {
  constexpr size_t kSums = 32;
  float sums[kSums] = {};
  for (size_t iteration = 0; iteration < args.n / kSums; ++iteration) {
    const float factor = args.x[iteration % 64];
    for (size_t i = 0; i < kSums; ++i) sums[i] += factor * args.x[i];
  }
  for (size_t i = 1; i < kSums; ++i) sums[0] += sums[i];
  args.y[0] = sums[0];
}
