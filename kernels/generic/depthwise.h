// Depthwise convolution over vectors of channels.
//
// 3x3 and 5x5 windows that share columns and rows, the common case, are computed in blocks of
// output pixels: a loaded input serves every window of the block that contains it. Blocks are the
// outer loop, channels the inner one, so that memory is read in streams; along a row it would be
// read with a stride of one pixel, which is often a power of two and maps to few sets of a cache.
// Other windows are computed four pixels at a time, so that a loaded weight serves four; wide ones
// seven pixels and seven taps at a time, so that a loaded input serves seven as well.
//
// Remainders of rows, pixels or tiles of channels are computed by a last block that overlaps the
// previous one.
#ifndef TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_
#define TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_

#include "kernels/generic/depthwise_window.h"
#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

inline size_t Minimum(size_t a, size_t b) { return a < b ? a : b; }

inline F Clamp(const DepthwiseArgs<Element>& args, F x) {
  return Min(Max(x, Set(args.clamp_min)), Set(args.clamp_max));
}

// kRows x kPixels pixels from (row, pixel) on, with windows of kKernel x kKernel and stride
// kStride.
template <int kKernel, int kStride, int kRows, int kPixels, int kVectors>
inline void DepthwiseBlock(const DepthwiseArgs<Element>& args, size_t row, size_t pixel) {
  constexpr size_t kTile = kVectors * kLanes;
  constexpr int kHeight = (kRows - 1) * kStride + kKernel;
  constexpr int kWidth = (kPixels - 1) * kStride + kKernel;
  // More pointers than this, and those of y, leave no registers for anything else.
  constexpr bool kAdvances = kHasPostIncrement && kHeight * kWidth <= 16;
  const Element* const* const a = args.a + (pixel * args.column + row) * kStride;
  Element* const y = args.y + row * args.y_row_stride + pixel * args.y_stride;
  const Element *w = args.w, *bias = args.bias;
  const Element* from[kHeight][kWidth];
  const Element* const* column = a;
  TRIMTAB_UNROLL
  for (int j = 0; j < kWidth; ++j) {
    TRIMTAB_UNROLL
    for (int i = 0; i < kHeight; ++i) from[i][j] = column[i];
    Advance(column, args.column);
  }
  Element* to[kRows][kPixels];
  TRIMTAB_UNROLL
  for (int r = 0; r < kRows; ++r) {
    TRIMTAB_UNROLL
    for (int p = 0; p < kPixels; ++p) to[r][p] = y + r * args.y_row_stride + p * args.y_stride;
  }
  size_t begin = 0, end = args.channels / kTile * kTile;
  for (;;) {
    TRIMTAB_NO_UNROLL
    for (size_t c = begin; c < end; c += kTile, w += kKernel * kKernel * kTile) {
      F sum[kRows][kPixels][kVectors];
      TRIMTAB_UNROLL
      for (int r = 0; r < kRows; ++r) {
        TRIMTAB_UNROLL
        for (int p = 0; p < kPixels; ++p) {
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectors; ++v)
            sum[r][p][v] = Load((kAdvances ? bias : args.bias + c) + v * kLanes);
        }
      }
      if (kAdvances) Advance(bias, kTile);
      TRIMTAB_UNROLL
      for (int i = 0; i < kHeight; ++i) {
        TRIMTAB_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const Element* const x = kAdvances ? from[i][j] : a[j * args.column + i] + c;
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectors; ++v) {
            const F in = Load(x + v * kLanes);
            TRIMTAB_UNROLL
            for (int r = 0; r < kRows; ++r) {
              TRIMTAB_UNROLL
              for (int p = 0; p < kPixels; ++p) {
                const int ky = i - r * kStride, kx = j - p * kStride;
                if (ky < 0 || ky >= kKernel || kx < 0 || kx >= kKernel) continue;
                const F weight = Load(w + (ky * kKernel + kx) * kTile + v * kLanes);
                sum[r][p][v] = Fma(in, weight, sum[r][p][v]);
              }
            }
          }
          if (kAdvances) Advance(from[i][j], kTile);
        }
      }
      TRIMTAB_UNROLL
      for (int r = 0; r < kRows; ++r) {
        TRIMTAB_UNROLL
        for (int p = 0; p < kPixels; ++p) {
          Element* const out =
              kAdvances ? to[r][p] : y + r * args.y_row_stride + p * args.y_stride + c;
          TRIMTAB_UNROLL
          for (int v = 0; v < kVectors; ++v) Store(out + v * kLanes, Clamp(args, sum[r][p][v]));
          if (kAdvances) Advance(to[r][p], kTile);
        }
      }
    }
    if (end == args.channels) return;
    begin = args.channels - kTile;
    if (kAdvances) {
      Advance(bias, begin - end);
      TRIMTAB_UNROLL
      for (int i = 0; i < kHeight; ++i) {
        TRIMTAB_UNROLL
        for (int j = 0; j < kWidth; ++j) Advance(from[i][j], begin - end);
      }
      TRIMTAB_UNROLL
      for (int r = 0; r < kRows; ++r) {
        TRIMTAB_UNROLL
        for (int p = 0; p < kPixels; ++p) Advance(to[r][p], begin - end);
      }
    }
    end = args.channels;
  }
}

template <int kKernel, int kStride, int kRows, int kPixels, int kVectors>
void DepthwiseBlocks(const DepthwiseArgs<Element>& args) {
  for (size_t r = 0; r < args.rows; r += kRows) {
    for (size_t p = 0; p < args.pixels; p += kPixels) {
      DepthwiseBlock<kKernel, kStride, kRows, kPixels, kVectors>(
          args, Minimum(r, args.rows - kRows), Minimum(p, args.pixels - kPixels));
    }
  }
}

// The same for fewer channels than a tile, in vectors that overlap. A tile of one vector is computed
// in part.
template <int kKernel, int kStride, int kRows, int kPixels, int kVectors>
inline void NarrowBlock(const DepthwiseArgs<Element>& args, size_t row, size_t pixel) {
  constexpr int kHeight = (kRows - 1) * kStride + kKernel;
  constexpr int kWidth = (kPixels - 1) * kStride + kKernel;
  constexpr bool kPart = kVectors == 1;
  const Element* const* const a = args.a + (pixel * args.column + row) * kStride;
  Element* const y = args.y + row * args.y_row_stride + pixel * args.y_stride;
  const size_t count = Minimum(args.channels, kLanes);
  for (size_t c = 0;; c = args.channels - count) {
    F sum[kRows][kPixels];
    const F bias = kPart ? LoadPartial(args.bias, count) : Load(args.bias + c);
    TRIMTAB_UNROLL
    for (int r = 0; r < kRows; ++r) {
      TRIMTAB_UNROLL
      for (int p = 0; p < kPixels; ++p) sum[r][p] = bias;
    }
    TRIMTAB_UNROLL
    for (int i = 0; i < kHeight; ++i) {
      TRIMTAB_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        const Element* const x = a[j * args.column + i] + c;
        const F in = kPart ? LoadPartial(x, count) : Load(x);
        TRIMTAB_UNROLL
        for (int r = 0; r < kRows; ++r) {
          TRIMTAB_UNROLL
          for (int p = 0; p < kPixels; ++p) {
            const int ky = i - r * kStride, kx = j - p * kStride;
            if (ky < 0 || ky >= kKernel || kx < 0 || kx >= kKernel) continue;
            const F weight = Load(args.w + (ky * kKernel + kx) * kVectors * kLanes + c);
            sum[r][p] = Fma(in, weight, sum[r][p]);
          }
        }
      }
    }
    TRIMTAB_UNROLL
    for (int r = 0; r < kRows; ++r) {
      TRIMTAB_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        Element* const out = y + r * args.y_row_stride + p * args.y_stride + c;
        const F result = Clamp(args, sum[r][p]);
        kPart ? StorePartial(out, result, count) : Store(out, result);
      }
    }
    if (c + count == args.channels) return;
  }
}

template <int kKernel, int kStride, int kRows, int kPixels, int kVectors>
void NarrowBlocks(const DepthwiseArgs<Element>& args) {
  for (size_t r = 0; r < args.rows; r += kRows) {
    for (size_t p = 0; p < args.pixels; p += kPixels) {
      NarrowBlock<kKernel, kStride, kRows, kPixels, kVectors>(args, Minimum(r, args.rows - kRows),
                                                              Minimum(p, args.pixels - kPixels));
    }
  }
}

constexpr int kAnyPixels = 4;

// Any window: one tile of channels of four pixels.
template <int kVectors>
inline void DepthwiseTile(const DepthwiseArgs<Element>& args,
                          const Element* const* const (&a)[kAnyPixels],
                          Element* const (&y)[kAnyPixels], const Element* w, size_t c) {
  F sum[kAnyPixels][kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const F bias = Load(args.bias + c + v * kLanes);
    TRIMTAB_UNROLL
    for (int p = 0; p < kAnyPixels; ++p) sum[p][v] = bias;
  }
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < args.kernel_h; ++i) {
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < args.kernel_w; ++j, w += kVectors * kLanes) {
      TRIMTAB_UNROLL
      for (int p = 0; p < kAnyPixels; ++p) {
        const Element* const x = a[p][j * args.column + i] + c;
        TRIMTAB_UNROLL
        for (int v = 0; v < kVectors; ++v)
          sum[p][v] = Fma(Load(x + v * kLanes), Load(w + v * kLanes), sum[p][v]);
      }
    }
  }
  TRIMTAB_UNROLL
  for (int p = 0; p < kAnyPixels; ++p) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) Store(y[p] + c + v * kLanes, Clamp(args, sum[p][v]));
  }
}

// `count` channels, at most a vector, of one pixel.
inline void DepthwisePartialTile(const DepthwiseArgs<Element>& args, const Element* const* a,
                                 Element* y, const Element* w, size_t tile, size_t c,
                                 size_t count) {
  F sum = LoadPartial(args.bias + c, count);
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < args.kernel_h; ++i) {
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < args.kernel_w; ++j, w += tile)
      sum = Fma(LoadPartial(a[j * args.column + i] + c, count), Load(w), sum);
  }
  StorePartial(y + c, Clamp(args, sum), count);
}

template <int kVectors>
void DepthwiseWindows(const DepthwiseArgs<Element>& args) {
  constexpr size_t kTile = kVectors * kLanes;
  const size_t taps = args.kernel_h * args.kernel_w;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t pixel = 0; pixel < args.pixels; pixel += kAnyPixels) {
      const Element* const* a[kAnyPixels];
      Element* y[kAnyPixels];
      TRIMTAB_NO_UNROLL
      for (size_t i = 0; i < kAnyPixels; ++i) {
        const size_t p = Minimum(pixel + i, args.pixels - 1);  // may repeat the last pixel
        a[i] = args.a + p * args.step_w * args.column + r * args.step_h;
        y[i] = args.y + r * args.y_row_stride + p * args.y_stride;
        if (args.channels >= kTile) continue;
        TRIMTAB_NO_UNROLL
        for (size_t c = 0; c < args.channels; c += kLanes)
          DepthwisePartialTile(args, a[i], y[i], args.w + c, kTile, c,
                               Minimum(kLanes, args.channels - c));
      }
      if (args.channels < kTile) continue;
      TRIMTAB_NO_UNROLL
      for (size_t c = 0; c < args.channels; c += kTile)
        DepthwiseTile<kVectors>(args, a, y, args.w + c * taps, Minimum(c, args.channels - kTile));
    }
  }
}

constexpr int kRowPixels = 7, kRowTaps = 7;

// Adds kTaps neighboring taps of one window row to kRowPixels neighboring pixels: a vector of
// inputs is loaded once for all of them. `c`: the first channel; `tile`: elements between weights.
template <int kTaps>
inline void AddTaps(const Element* const* a, size_t column, const Element* w, size_t tile, size_t c,
                    F (&sum)[kRowPixels]) {
  F weight[kTaps];
  TRIMTAB_UNROLL
  for (int t = 0; t < kTaps; ++t) weight[t] = Load(w + t * tile);
  TRIMTAB_UNROLL
  for (int j = 0; j < kRowPixels + kTaps - 1; ++j) {
    const F in = Load(a[j * column] + c);
    TRIMTAB_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      const int p = j - t;
      if (p >= 0 && p < kRowPixels) sum[p] = Fma(in, weight[t], sum[p]);
    }
  }
}

// Wide windows with a horizontal stride of one.
template <int kVectors>
void DepthwiseWideWindows(const DepthwiseArgs<Element>& args) {
  constexpr size_t kTile = kVectors * kLanes;
  const size_t taps = args.kernel_h * args.kernel_w, column = args.column;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t pixel = 0; pixel < args.pixels; pixel += kRowPixels) {
      const size_t first = Minimum(pixel, args.pixels - kRowPixels);
      const Element* const* const a = args.a + first * column + r * args.step_h;
      Element* const y = args.y + r * args.y_row_stride + first * args.y_stride;
      TRIMTAB_NO_UNROLL
      for (size_t v = 0, tile = 0; tile < args.channels; v += kLanes, tile = v / kTile * kTile) {
        const size_t c = Minimum(tile, args.channels - kTile) + v % kTile;
        const F bias = Load(args.bias + c);
        F sum[kRowPixels];
        TRIMTAB_UNROLL
        for (int p = 0; p < kRowPixels; ++p) sum[p] = bias;
        const Element* w = args.w + tile * taps + v % kTile;
        TRIMTAB_NO_UNROLL
        for (size_t i = 0; i < args.kernel_h; ++i) {
          const Element* const* tap = a + i;
          size_t left = args.kernel_w;
          TRIMTAB_NO_UNROLL
          for (; left >= kRowTaps; left -= kRowTaps, w += kRowTaps * kTile) {
            AddTaps<kRowTaps>(tap, column, w, kTile, c, sum);
            tap += kRowTaps * column;
          }
          TRIMTAB_NO_UNROLL
          for (; left > 0; --left, w += kTile, tap += column)
            AddTaps<1>(tap, column, w, kTile, c, sum);
        }
        TRIMTAB_UNROLL
        for (int p = 0; p < kRowPixels; ++p) Store(y + p * args.y_stride + c, Clamp(args, sum[p]));
      }
    }
  }
}

// Blocks of kRows x kPixels pixels and kTile channels have 8 vectors of sums, half of 16 registers.
// Windows with a stride of two share less: if each has its own pointers, two rows of them need more
// pointers than there are registers.
TRIMTAB_FAMILY(f32, f16, tile_by_lanes(4 : 8, 8 : 16, 16 : 16))
template <int kTile>
inline void Depthwise(const DepthwiseArgs<Element>& original) {
  const DepthwiseArgs<Element> args = original;  // stores to y might alias it
  constexpr int kVectors = kTile / static_cast<int>(kLanes);
  constexpr int kRows = 2, kStride2Rows = kHasPostIncrement ? 1 : 2, kPixels = 4 / kVectors;
  constexpr int kNarrowPixels = 4;
  const bool block = args.step_h == args.step_w && args.rows >= kRows && args.pixels >= kPixels;
  // Cores with few lanes gain less from this code, and their binaries are small.
  if constexpr (kLanes >= 8 && !kHasPostIncrement) {
    const bool narrow = args.channels < kTile && (kVectors == 1 || args.channels >= kLanes);
    if (block && narrow && args.pixels >= kNarrowPixels) {
      if (IsNarrowWindow<3, 1>(args))
        return NarrowBlocks<3, 1, kRows, kNarrowPixels, kVectors>(args);
      if (IsNarrowWindow<3, 2>(args))
        return NarrowBlocks<3, 2, kRows, kNarrowPixels, kVectors>(args);
      if (IsNarrowWindow<5, 1>(args))
        return NarrowBlocks<5, 1, kRows, kNarrowPixels, kVectors>(args);
      if (IsNarrowWindow<5, 2>(args))
        return NarrowBlocks<5, 2, kRows, kNarrowPixels, kVectors>(args);
    }
    if (trimtab::kWidestWindow >= kRowTaps && args.kernel_w >= kRowTaps && args.step_w == 1 &&
        args.pixels >= kRowPixels && args.channels >= kTile) {
      return DepthwiseWideWindows<kVectors>(args);
    }
  }
  if (block && args.channels >= kTile) {
    if (IsWindow<3, 1>(args)) return DepthwiseBlocks<3, 1, kRows, kPixels, kVectors>(args);
    if (IsWindow<3, 2>(args)) return DepthwiseBlocks<3, 2, kStride2Rows, kPixels, kVectors>(args);
    if (IsWindow<5, 1>(args)) return DepthwiseBlocks<5, 1, kRows, kPixels, kVectors>(args);
    if (IsWindow<5, 2>(args)) return DepthwiseBlocks<5, 2, kStride2Rows, kPixels, kVectors>(args);
  }
  DepthwiseWindows<kVectors>(args);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_DEPTHWISE_H_
