// The tiles of Winograd's algorithm.
#ifndef TRIMTAB_OPS_WINOGRAD_TILES_H_
#define TRIMTAB_OPS_WINOGRAD_TILES_H_

#include "kernels/kernel_api.h"
#include "runtime/core/parallel.h"
#include "runtime/core/tensor.h"
#include "runtime/ops/window.h"

namespace trimtab {

// Finds the tile of `outputs` x `outputs` for a kernel size and strides: one for these strides, or
// one of stride 1 over space-to-depth cells of stride x stride pixels. Null if there is none.
inline const WinogradTile* FindWinogradTile(int64_t outputs, int64_t kernel, int64_t stride) {
  for (const WinogradTile& known : kWinogradTiles) {
    const bool is_direct = known.stride == stride;
    const int64_t taps = is_direct ? kernel : (kernel + stride - 1) / stride;
    if (known.tile == outputs && known.taps == taps && (is_direct || known.stride == 1))
      return &known;
  }
  return nullptr;
}

// The outputs of one tile: `rows` x `columns`, from (top, left) of an image on.
struct Tile {
  size_t image, top, left, rows, columns;
};

// Tiles of `side` x `side` outputs that cover all images of an output.
struct ImageTiles {
  size_t side = 1, h = 0, w = 0;  // of an image, in pixels
  size_t columns = 0, in_image = 0, count = 0;

  ImageTiles() = default;
  ImageTiles(const Tensor& y, size_t side_of_tile)
      : ImageTiles(side_of_tile, static_cast<size_t>(y.h()), static_cast<size_t>(y.w()),
                   static_cast<size_t>(y.n())) {}
  ImageTiles(size_t side_of_tile, size_t height, size_t width, size_t images)
      : side(side_of_tile),
        h(height),
        w(width),
        columns(DivideUp(w, side)),
        in_image(columns * DivideUp(h, side)),
        count(in_image * images) {}

  Tile At(size_t index) const {
    const size_t offset = index % in_image;
    const size_t top = offset / columns * side, left = offset % columns * side;
    return {index / in_image, top, left, Min(h - top, side), Min(w - left, side)};
  }
};

// The phases of each image of y under a dilation d: every d-th pixel of every d-th row. All have the
// size of the first one, which is the largest.
struct Phases {
  size_t dilation, h, w, rows, columns;  // size of y, and number of phases in either direction

  Phases(const Tensor& y, int64_t d)
      : dilation(static_cast<size_t>(d)),
        h(static_cast<size_t>(y.h())),
        w(static_cast<size_t>(y.w())),
        rows(Min(dilation, h)),
        columns(Min(dilation, w)) {}

  ImageTiles Tiles(const Tensor& y, size_t side) const {
    return {side, DivideUp(h, dilation), DivideUp(w, dilation),
            rows * columns * static_cast<size_t>(y.n())};
  }
  // A tile of those as one of y: (top, left) is a pixel of y, and its outputs are `dilation` pixels
  // apart. It is empty where a phase ends before the first one.
  Tile InImage(const Tile& tile) const {
    const size_t image = tile.image / (rows * columns), phase = tile.image % (rows * columns);
    const size_t top = tile.top * dilation + phase / columns;
    const size_t left = tile.left * dilation + phase % columns;
    if (top >= h || left >= w) return {image, top, left, 0, 0};
    return {image, top, left, Min(tile.rows, DivideUp(h - top, dilation)),
            Min(tile.columns, DivideUp(w - left, dilation))};
  }
};

// Writes pointers to the size x size inputs of a tile in x; outside of the image, to `padding`.
// `kDilated`: they are as far apart as the window says.
template <bool kDilated = false, typename T>
void PointAtTile(const Tensor& x, const Window& window, const Tile& tile, size_t size,
                 const T* padding, const T** a) {
  const int32_t step = kDilated ? window.dilation_w : 1;
  const int32_t n = static_cast<int32_t>(size);
  const int32_t top = static_cast<int32_t>(tile.top) * window.stride_h - window.pad_top;
  const int32_t left = static_cast<int32_t>(tile.left) * window.stride_w - window.pad_left;
  const size_t pixel_stride = x.pixel_stride(), w = static_cast<size_t>(x.w());
  const T* const image = x.data<T>() + tile.image * x.h() * w * pixel_stride;
  // The columns of the tile that lie inside of the image.
  const int32_t begin = left < 0 ? (step - 1 - left) / step : 0;
  const int32_t end = left + (n - 1) * step >= x.w() ? (x.w() - left + step - 1) / step : n;
  for (int32_t i = top; i < top + n * step; i += step) {
    int32_t j = 0;
    if (i >= 0 && i < x.h() && begin < end) {
      for (; j < begin; ++j) *a++ = padding;
      const size_t offset = static_cast<size_t>(i) * w + static_cast<size_t>(left + begin * step);
      const T* pixel = image + offset * pixel_stride;
      for (; j < end; ++j, pixel += step * pixel_stride) *a++ = pixel;
    }
    for (; j < n; ++j) *a++ = padding;
  }
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_WINOGRAD_TILES_H_
