// Depthwise convolution of bytes of fewer channels than a kernel computes at once.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_

#include "kernels/generic/depthwise_one_by_one.h"
#include "kernels/generic/short_copy.h"

namespace {

// By the kernel itself, `wide`, of copies with room for kNr channels: of a block of pixels at a time.
// At most kNr = 16 channels.
template <size_t kNr>
inline void DepthwiseFewChannels(const DepthwiseArgs<int8_t>& args,
                                 void (*wide)(const DepthwiseArgs<int8_t>&)) {
  constexpr size_t kCopies = 256;
  const size_t channels = args.channels, column = args.column;
  if (args.kernel_w * column > kCopies) return DepthwiseBytesOneByOne(args);
  const size_t most = (kCopies / column - args.kernel_w) / args.step_w + 1;
  int8_t x[kCopies * kNr] = {}, y[kCopies * kNr];
  int32_t bias[kNr] = {};
  float scale[kNr] = {};
  __builtin_memcpy(bias, args.bias, channels * sizeof(*bias));
  __builtin_memcpy(scale, args.scale, channels * sizeof(*scale));
  const int8_t* a[kCopies];
  for (size_t i = 0; i < kCopies; ++i) a[i] = x + i * kNr;
  DepthwiseArgs<int8_t> block = args;
  block.a = a;
  block.bias = bias;
  block.scale = scale;
  block.y = y;
  block.channels = block.y_stride = kNr;
  for (size_t done = 0; done < args.pixels; done += block.pixels) {
    const size_t left = args.pixels - done;
    block.pixels = left < most ? left : most;
    block.y_row_stride = block.pixels * kNr;
    const int8_t* const* from = args.a + done * args.step_w * column;
    const size_t count = ((block.pixels - 1) * args.step_w + args.kernel_w) * column;
    for (size_t i = 0; i < count; ++i) CopyShort(x + i * kNr, from[i], channels);
    wide(block);
    const int8_t* result = y;
    for (size_t r = 0; r < args.rows; ++r) {
      int8_t* to = args.y + r * args.y_row_stride + done * args.y_stride;
      for (size_t p = 0; p < block.pixels; ++p, to += args.y_stride, result += kNr)
        CopyShort(to, result, channels);
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
