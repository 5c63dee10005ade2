// Depthwise convolution of bytes of fewer channels than a kernel computes at once.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_

#include "kernels/generic/depthwise_one_by_one.h"
#include "kernels/generic/short_copy.h"

namespace {

// By the kernel itself, `wide`, of copies with room for kNr channels: those of several rows lie side
// by side there, as many as have room, as if they were other channels.
template <size_t kNr>
struct FewChannels {
  static constexpr size_t kCopies = 256, kMostTaps = 128;

  const DepthwiseArgs<int8_t>& args;
  void (*wide)(const DepthwiseArgs<int8_t>&);
  const int8_t* a[kCopies];
  int8_t x[kCopies * kNr] = {}, y[kCopies * kNr], w[kMostTaps * kNr];
  int32_t bias[kNr] = {};
  float scale[kNr] = {};

  FewChannels(const DepthwiseArgs<int8_t>& given, void (*kernel)(const DepthwiseArgs<int8_t>&))
      : args(given), wide(kernel) {
    for (size_t i = 0; i < kCopies; ++i) a[i] = x + i * kNr;
  }

  // `parts` times `rows` rows, from row `first` on: what part i has of a copy is of its own rows.
  inline void Run(size_t first, size_t parts, size_t rows) {
    const size_t channels = args.channels, taps = args.kernel_h * args.kernel_w;
    __builtin_memset(w, 0, taps * kNr);
    for (size_t i = 0; i < parts; ++i) {
      __builtin_memcpy(bias + i * channels, args.bias, channels * sizeof(*bias));
      __builtin_memcpy(scale + i * channels, args.scale, channels * sizeof(*scale));
      for (size_t t = 0; t < taps; ++t)
        CopyShort(w + t * kNr + i * channels, args.w + t * kNr, channels);
    }
    DepthwiseArgs<int8_t> block = args;
    block.a = a;
    block.w = w;
    block.bias = bias;
    block.scale = scale;
    block.y = y;
    block.rows = rows;
    block.column = (rows - 1) * args.step_h + args.kernel_h;
    block.channels = block.y_stride = kNr;
    const size_t most = (kCopies / block.column - args.kernel_w) / args.step_w + 1;
    for (size_t done = 0; done < args.pixels; done += block.pixels) {
      const size_t left = args.pixels - done;
      block.pixels = left < most ? left : most;
      block.y_row_stride = block.pixels * kNr;
      const size_t columns = (block.pixels - 1) * args.step_w + args.kernel_w;
      for (size_t i = 0; i < parts; ++i) {
        const size_t row = first + i * rows;
        const int8_t* const* from = args.a + done * args.step_w * args.column + row * args.step_h;
        int8_t* to = x + i * channels;
        for (size_t c = 0; c < columns; ++c, from += args.column) {
          for (size_t line = 0; line < block.column; ++line, to += kNr)
            CopyShort(to, from[line], channels);
        }
      }
      wide(block);
      for (size_t i = 0; i < parts; ++i) {
        const int8_t* result = y + i * channels;
        for (size_t r = first + i * rows; r < first + (i + 1) * rows; ++r) {
          int8_t* to = args.y + r * args.y_row_stride + done * args.y_stride;
          for (size_t p = 0; p < block.pixels; ++p, to += args.y_stride, result += kNr)
            CopyShort(to, result, channels);
        }
      }
    }
  }
};

// Of at most kNr channels, and at most the 16 that CopyShort takes.
template <size_t kNr>
inline void DepthwiseFewChannels(const DepthwiseArgs<int8_t>& args,
                                 void (*wide)(const DepthwiseArgs<int8_t>&)) {
  using Few = FewChannels<kNr>;
  if (args.kernel_w * args.column > Few::kCopies || args.kernel_w * args.kernel_h > Few::kMostTaps)
    return DepthwiseBytesOneByOne(args);
  Few few(args, wide);
  const size_t room = kNr / args.channels;
  for (size_t row = 0, left; (left = args.rows - row) > 0;) {
    const size_t parts = left < room ? left : room, rows = left / parts;
    few.Run(row, parts, rows);
    row += parts * rows;
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
