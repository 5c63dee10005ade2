#include "kernels/kernel_api.h"

// Any tile, one sum at a time.
extern "C" void winograd_product_i8_portable(const WinogradProductArgs<int8_t>& args) {
  const size_t nr = args.nr, kr = args.kr;
  for (size_t j = 0; j < args.columns; ++j) {
    const int16_t* const panel = args.w + j / nr * nr * args.k + j % nr * kr;
    for (size_t i = 0; i < args.rows; ++i) {
      const int16_t* const a = args.a + i * args.a_stride;
      uint32_t sum = 0;
      for (size_t p = 0; p < args.k; ++p)
        sum += static_cast<uint32_t>(a[p] * panel[p / kr * nr * kr + p % kr]);
      args.c[i * args.c_stride + j] = static_cast<int32_t>(sum);
    }
  }
}
