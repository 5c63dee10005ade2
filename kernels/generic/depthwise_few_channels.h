// Depthwise convolution of int8 values with fewer channels than a kernel computes at once.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_

#include "kernels/generic/depthwise_scalar.h"
#include "kernels/generic/short_copy.h"

namespace {

// The functions of a kernel that computes kNr channels.
template <size_t kNr>
struct DepthwiseFunctions {
  void (*windows)(const DepthwiseArgs<int8_t>& args);
  // Computes contiguous pixels: taps are `channels` apart in the lines at `lines`, and blocks of
  // pixels kNr apart. Ignores the other pointers and steps of `args`.
  void (*contiguous)(const DepthwiseArgs<int8_t>& args, const int8_t* const* lines,
                     size_t channels);
};

// Computes several pixels as one of kNr channels: neighbors in a line in place if together they
// have kNr channels; all others, and those beside padding, in copies that put pixels of several
// rows side by side. Functions that run once for many pixels and have several callers are not
// inlined, which saves half a kilobyte of code and more.
template <size_t kNr>
class FewChannels {
 public:
  using Args = DepthwiseArgs<int8_t>;
  static constexpr size_t kCopies = 256, kMaxTaps = 128;

  FewChannels(const Args& args, const DepthwiseFunctions<kNr>& functions)
      : args_(args), functions_(functions) {}

  inline void Run() {
    const size_t at_once = kNr / args_.channels;
    const bool is_even = at_once * args_.channels == kNr && args_.y_stride == args_.channels;
    const Range inside = is_even && args_.step_w == 1 ? PixelsInPlace() : Range{0, 0};
    if (inside.end - inside.begin < at_once) return RunCopied(0, args_.pixels);
    RunCopied(0, inside.begin);
    RunCopied(inside.end, args_.pixels);
    RepeatParameters(at_once);
    const size_t pixels = inside.end - inside.begin, groups = pixels / at_once;
    RunInPlace(inside.begin, groups);
    if (groups * at_once < pixels) RunInPlace(inside.end - at_once, 1);  // recomputes some of them
  }

 private:
  struct Range {
    size_t begin, end;
  };

  // The pixels whose taps are contiguous in each line, ignoring lines of padding.
  inline Range PixelsInPlace() const {
    const size_t columns = args_.pixels - 1 + args_.kernel_w;
    if (columns < 2 || (columns + kNr) * args_.channels > sizeof(x_)) return {0, 0};
    Range all = {0, columns};
    for (size_t i = 0; i < args_.column; ++i) {
      const auto step = [&](size_t c) {
        return args_.a[(c + 1) * args_.column + i] - args_.a[c * args_.column + i];
      };
      size_t begin = 0, end = columns - 1;
      if (const ptrdiff_t middle = step(columns / 2 - 1); middle == 0) {
        while (begin < end && step(begin) == 0) ++begin;
        if (begin < end) return {0, 0};
      } else if (middle == static_cast<ptrdiff_t>(args_.channels)) {
        for (; step(begin) != middle; ++begin) {
        }
        for (; step(end - 1) != middle; --end) {
        }
        if (begin > all.begin) all.begin = begin;
        if (end + 1 < all.end) all.end = end + 1;
      } else {
        return {0, 0};
      }
    }
    if (all.end < all.begin + args_.kernel_w) return {0, 0};
    return {all.begin, all.end - args_.kernel_w + 1};
  }

  // Repeats weights, biases, scales and slopes for `parts` pixels side by side.
  __attribute__((noinline)) void RepeatParameters(size_t parts) {
    const size_t channels = args_.channels, taps = args_.kernel_h * args_.kernel_w;
    __builtin_memset(w_, 0, taps * kNr);
    for (size_t i = 0; i < parts; ++i) {
      __builtin_memcpy(bias_ + i * channels, args_.bias, channels * sizeof(*bias_));
      __builtin_memcpy(scale_ + i * channels, args_.scale, channels * sizeof(*scale_));
      if (args_.slope != nullptr)
        __builtin_memcpy(slope_ + i * channels, args_.slope, channels * sizeof(*slope_));
      for (size_t t = 0; t < taps; ++t)
        CopyShort(w_ + t * kNr + i * channels, args_.w + t * kNr, channels);
    }
  }
  inline Args RepeatedArgs() const {
    Args block = args_;
    block.w = w_;
    block.bias = bias_;
    block.scale = scale_;
    if (args_.slope != nullptr) block.slope = slope_;
    block.channels = block.y_stride = kNr;
    return block;
  }

  // Computes `groups` groups of neighbors with kNr channels each, from `pixel` on.
  __attribute__((noinline)) void RunInPlace(size_t pixel, size_t groups) {
    const size_t column = args_.column, channels = args_.channels;
    const int8_t* lines[kCopies];
    const int8_t* const* const from = args_.a + pixel * column;
    for (size_t i = 0; i < column; ++i) {
      lines[i] = from[i];
      if (from[column + i] != from[i]) continue;
      lines[i] = x_;  // padding, as long as a line
      const size_t bytes = groups * kNr + args_.kernel_w * channels;
      for (size_t c = 0; c < bytes; c += channels) CopyShort(x_ + c, from[i], channels);
    }
    Args block = RepeatedArgs();
    block.pixels = groups;
    block.y = args_.y + pixel * channels;
    functions_.contiguous(block, lines, channels);
  }

  // Copies and computes the pixels [begin, end) of all rows, as many rows side by side as fit.
  inline void RunCopied(size_t begin, size_t end) {
    const size_t room = kNr / args_.channels;
    for (size_t row = 0, left; begin < end && (left = args_.rows - row) > 0;) {
      const size_t parts = left < room ? left : room, rows = left / parts;
      RunCopiedRows(begin, end, row, parts, rows);
      row += parts * rows;
    }
  }

  // Copies and computes `parts` times `rows` rows from row `first` on; part i of a copy holds its
  // own rows.
  __attribute__((noinline)) void RunCopiedRows(size_t begin, size_t end, size_t first, size_t parts,
                                               size_t rows) {
    const size_t channels = args_.channels;
    RepeatParameters(parts);
    const int8_t* copies[kCopies];
    for (size_t i = 0; i < kCopies; ++i) copies[i] = x_ + i * kNr;
    Args block = RepeatedArgs();
    block.a = copies;
    block.y = y_;
    block.rows = rows;
    block.column = (rows - 1) * args_.step_h + args_.kernel_h;
    const size_t capacity = (kCopies / block.column - args_.kernel_w) / args_.step_w + 1;
    for (size_t done = begin; done < end; done += block.pixels) {
      block.pixels = end - done < capacity ? end - done : capacity;
      block.y_row_stride = block.pixels * kNr;
      const size_t columns = (block.pixels - 1) * args_.step_w + args_.kernel_w;
      for (size_t i = 0; i < parts; ++i) {
        const size_t row = first + i * rows;
        const int8_t* const* from =
            args_.a + done * args_.step_w * args_.column + row * args_.step_h;
        int8_t* to = x_ + i * channels;
        for (size_t c = 0; c < columns; ++c, from += args_.column) {
          for (size_t line = 0; line < block.column; ++line, to += kNr)
            CopyShort(to, from[line], channels);
        }
      }
      functions_.windows(block);
      for (size_t i = 0; i < parts; ++i) {
        const int8_t* result = y_ + i * channels;
        for (size_t r = first + i * rows; r < first + (i + 1) * rows; ++r) {
          int8_t* to = args_.y + r * args_.y_row_stride + done * args_.y_stride;
          for (size_t p = 0; p < block.pixels; ++p, to += args_.y_stride, result += kNr)
            CopyShort(to, result, channels);
        }
      }
    }
  }

  const Args& args_;
  const DepthwiseFunctions<kNr> functions_;
  int8_t x_[kCopies * kNr] = {}, y_[kCopies * kNr], w_[kMaxTaps * kNr];
  int32_t bias_[kNr] = {};
  float scale_[kNr] = {}, slope_[kNr] = {};
};

// Requires at most kNr channels, and at most the 16 that CopyShort copies.
template <size_t kNr>
inline void DepthwiseFewChannels(const DepthwiseArgs<int8_t>& args,
                                 const DepthwiseFunctions<kNr>& functions) {
  using Few = FewChannels<kNr>;
  if (args.kernel_w * args.column > Few::kCopies || args.kernel_w * args.kernel_h > Few::kMaxTaps)
    return DepthwiseI8Scalar(args);
  if (args.pixels > 0) Few(args, functions).Run();
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_FEW_CHANNELS_H_
