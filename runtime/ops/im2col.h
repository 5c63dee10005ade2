// im2col of int8 images: copies the taps of output pixels side by side into rows that a GEMM kernel
// reads whole, for depths that are no multiple of what the kernel multiplies at once.
#ifndef TRIMTAB_OPS_IM2COL_H_
#define TRIMTAB_OPS_IM2COL_H_

#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {

// Internal linkage, because one operator includes this: the compiler inlines all of it there.
namespace {

struct Im2colSource {
  WindowSource<int8_t> window;
  size_t k;              // elements of a tap: channels per group, times the packed pixels
  size_t depth;          // elements of a row of the GEMM, its padding included
  size_t fold;           // pixel packing: output pixels per row of the GEMM
  size_t offsets_bytes;  // of the tap offsets at the start of a thread's buffer
  size_t first, count;   // the first output pixel, and the number of pixels
  const int8_t* end;     // of the images
};

constexpr size_t kIm2colWord = 16;  // bytes of one copy

// Writes the rows of the GEMM into a buffer: first the offsets of the pieces of a window, then the
// rows. A piece is a tap, or a whole kernel row where its taps are contiguous. Pieces are copied in
// whole words: a copy may write past its piece, the next copy overwrites that, and the bytes past
// the last piece are multiplied by weights of 0.
class Im2col {
 public:
  Im2col(const Im2colSource& source, size_t channel, void* buffer)
      : from_(source.window),
        depth_(source.depth / source.fold),
        end_(source.end),
        images_(from_.x + channel),
        offsets_(static_cast<size_t*>(buffer)),
        to_(static_cast<int8_t*>(buffer) + source.offsets_bytes) {
    const Window& window = from_.window;
    const bool neighbors = from_.pixel_stride == source.k && window.dilation_w == 1;
    taps_ = neighbors ? window.kernel_w : 1;
    tap_bytes_ = source.k;
    const size_t line = window.dilation_h * from_.w * from_.pixel_stride;
    for (int32_t i = 0; i < window.kernel_h; ++i) {
      for (int32_t j = 0; j < window.kernel_w; j += taps_)
        offsets_[pieces_++] = i * line + j * window.dilation_w * from_.pixel_stride;
    }
  }

  // Appends `count` neighboring pixels of output row `line` (counted over all images), from column
  // `x` on.
  void AppendLine(size_t line, size_t x, size_t count) {
    const Window& window = from_.window;
    const size_t image = line / from_.out_h;
    const int32_t top =
        static_cast<int32_t>(line - image * from_.out_h) * window.stride_h - window.pad_top;
    int32_t left = static_cast<int32_t>(x) * window.stride_w - window.pad_left;
    const int8_t* const pixels = images_ + image * from_.h * from_.w * from_.pixel_stride;
    while (count > 0) {
      // Unsigned: it wraps where the first tap lies outside of the image.
      const size_t first_tap =
          (static_cast<size_t>(top) * from_.w + static_cast<size_t>(left)) * from_.pixel_stride;
      size_t done = CountInside(pixels, first_tap, top, left, count);
      if (done > 0) {
        CopyInside(pixels + first_tap, done);
      } else {
        CopyAtBorder(pixels, top, left);
        done = 1;
      }
      count -= done;
      left += static_cast<int32_t>(done) * window.stride_w;
    }
  }

 private:
  // Number of the `count` neighbors whose taps all lie inside of the image and whose last word ends
  // before `end_`.
  size_t CountInside(const int8_t* pixels, size_t first_tap, int32_t top, int32_t left,
                     size_t count) const {
    const Window& window = from_.window;
    const int32_t room = from_.w - left - window.extent_w();
    if (top < 0 || top + window.extent_h() > from_.h || left < 0 || room < 0) return 0;
    const size_t last =
        first_tap + offsets_[pieces_ - 1] + RoundUp(taps_ * tap_bytes_, kIm2colWord);
    const auto readable = static_cast<size_t>(end_ - pixels);
    if (readable < last) return 0;
    const size_t inside = Min(static_cast<size_t>(room / window.stride_w) + 1, count);
    return Min(inside, (readable - last) / (window.stride_w * from_.pixel_stride) + 1);
  }

  // Copies pixels whose taps all lie inside of the image. kWords: words per piece; 0: any number.
  template <size_t kWords>
  void Copy(const int8_t* x, size_t count) {
    // Locals, because stores of bytes may alias members.
    const size_t bytes = taps_ * tap_bytes_, pieces = pieces_, padding = depth_ - pieces * bytes;
    const size_t words = kWords > 0 ? kWords : DivideUp(bytes, kIm2colWord);
    const size_t step = from_.window.stride_w * from_.pixel_stride;
    const size_t* const offsets = offsets_;
    int8_t* to = to_;
    for (; count > 0; --count, x += step, to += padding) {
      for (size_t piece = 0; piece < pieces; ++piece, to += bytes) {
        const int8_t* const from = x + offsets[piece];
        for (size_t i = 0; i < words * kIm2colWord; i += kIm2colWord)
          __builtin_memcpy(to + i, from + i, kIm2colWord);
      }
    }
    to_ = to;
  }
  // The same for the most frequent case: three pieces of one word each.
  void CopyThree(const int8_t* x, size_t count) {
    const size_t bytes = taps_ * tap_bytes_, depth = depth_;
    const size_t step = from_.window.stride_w * from_.pixel_stride;
    const int8_t *a = x + offsets_[0], *b = x + offsets_[1], *c = x + offsets_[2];
    int8_t* to = to_;
    for (; count > 0; --count, a += step, b += step, c += step, to += depth) {
      __builtin_memcpy(to, a, kIm2colWord);
      __builtin_memcpy(to + bytes, b, kIm2colWord);
      __builtin_memcpy(to + 2 * bytes, c, kIm2colWord);
    }
    to_ = to;
  }

  void CopyInside(const int8_t* x, size_t count) {
    const size_t bytes = taps_ * tap_bytes_;
    if (bytes > 2 * kIm2colWord) return Copy<0>(x, count);
    if (bytes > kIm2colWord) return Copy<2>(x, count);
    pieces_ == 3 ? CopyThree(x, count) : Copy<1>(x, count);
  }

  // Copies one pixel whose window reaches into the padding or to the end of the images.
  void CopyAtBorder(const int8_t* pixels, int32_t top, int32_t left) {
    const Window& window = from_.window;
    const TapRange inside = TapsInside(window.kernel_w, left, window.dilation_w, from_.w);
    int8_t* const row = to_;
    for (int32_t i = 0; i < window.kernel_h; ++i) {
      const int32_t y = top + i * window.dilation_h;
      const bool is_line = y >= 0 && y < from_.h;
      int32_t j = is_line ? inside.begin : window.kernel_w;
      Pad(j);
      for (int32_t taps; j < inside.end; j += taps) {
        taps = taps_ > 1 ? inside.end - j : 1;
        const size_t x = static_cast<size_t>(left + j * window.dilation_w);
        Append(pixels + (static_cast<size_t>(y) * from_.w + x) * from_.pixel_stride,
               taps * tap_bytes_);
      }
      Pad(window.kernel_w - j);
    }
    to_ = row + depth_;
  }
  void Pad(int32_t taps) {
    const size_t bytes = taps * tap_bytes_;
    for (size_t i = 0; i < bytes; i += kIm2colWord)
      __builtin_memset(to_ + i, *from_.padding, kIm2colWord);
    to_ += bytes;
  }
  void Append(const int8_t* from, size_t bytes) {
    if (static_cast<size_t>(end_ - from) >= RoundUp(bytes, kIm2colWord)) {
      for (size_t i = 0; i < bytes; i += kIm2colWord)
        __builtin_memcpy(to_ + i, from + i, kIm2colWord);
    } else {
      for (size_t i = 0; i < bytes; ++i) to_[i] = from[i];
    }
    to_ += bytes;
  }

  const WindowSource<int8_t> from_;
  const size_t depth_;  // bytes per pixel
  const int8_t* const end_;
  const int8_t* const images_;  // from the group's first channel on
  size_t* const offsets_;       // of a window's pieces, from its first tap on
  int8_t* to_;
  int32_t taps_;  // per piece
  size_t tap_bytes_;
  size_t pieces_ = 0;
};

// GemmJob::point: the rows of the tiles are im2col rows in the thread's buffer.
inline void PointAtIm2colRows(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const Im2colSource*>(context);
  const auto out_w = static_cast<size_t>(source.window.out_w);
  Im2col im2col(source, tiles->group * source.k, tiles->buffer);
  const size_t pixel = source.first + tiles->row * source.fold;
  size_t line = pixel / out_w, x = pixel - line * out_w;
  size_t remaining = Min(tiles->rows * source.fold, source.first + source.count - pixel);
  for (size_t count; remaining > 0; remaining -= count, ++line, x = 0) {
    count = Min(remaining, out_w - x);
    im2col.AppendLine(line, x, count);
  }
  const auto* row = static_cast<const int8_t*>(tiles->buffer) + source.offsets_bytes;
  const int8_t** const end = tiles->a + DivideUp(tiles->rows, tiles->mr) * tiles->mr;
  for (const int8_t** a = tiles->a; a < end; row += source.depth) *a++ = row;
  tiles->taps = 1;
  tiles->k = source.depth;
}

}  // namespace
}  // namespace trimtab

#endif  // TRIMTAB_OPS_IM2COL_H_
