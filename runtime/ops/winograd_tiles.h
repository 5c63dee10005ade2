// The tiles that Winograd's algorithm cuts an image into.
#ifndef TRIMTAB_OPS_WINOGRAD_TILES_H_
#define TRIMTAB_OPS_WINOGRAD_TILES_H_

#include "kernels/kernel_api.h"
#include "runtime/core/parallel.h"
#include "runtime/core/tensor.h"
#include "runtime/ops/window.h"

namespace trimtab {

// The tile of so many outputs, down or across, for the size of a kernel and strides: one for these
// strides, or for steps of one over squares of stride x stride pixels. Null where there is none.
inline const WinogradTile* FindWinogradTile(int64_t outputs, int64_t kernel, int64_t stride) {
  for (const WinogradTile& known : kWinogradTiles) {
    const bool is_direct = known.stride == stride;
    const int64_t taps = is_direct ? kernel : (kernel + stride - 1) / stride;
    if (known.tile == outputs && known.taps == taps && (is_direct || known.stride == 1))
      return &known;
  }
  return nullptr;
}

// The outputs of one tile: from (top, left) of an image on, `rows` x `columns` of them.
struct Tile {
  size_t image, top, left, rows, columns;
};

// Tiles of `side` x `side` outputs that cover all images of an output.
struct ImageTiles {
  size_t side = 1, h = 0, w = 0;  // of an image, in pixels
  size_t columns = 0, in_image = 0, count = 0;

  ImageTiles() = default;
  ImageTiles(const Tensor& y, size_t side_of_tile)
      : side(side_of_tile),
        h(static_cast<size_t>(y.h())),
        w(static_cast<size_t>(y.w())),
        columns(DivideUp(w, side)),
        in_image(columns * DivideUp(h, side)),
        count(in_image * static_cast<size_t>(y.n())) {}

  Tile At(size_t index) const {
    const size_t place = index % in_image;
    const size_t top = place / columns * side, left = place % columns * side;
    return {index / in_image, top, left, Least(h - top, side), Least(w - left, side)};
  }
};

// Points `a` at the size x size inputs of a tile in x; at `padding` outside of the image.
template <typename T>
void PointAtTile(const Tensor& x, const Window& window, const Tile& tile, size_t size,
                 const T* padding, const T** a) {
  const int32_t n = static_cast<int32_t>(size);
  const int32_t top = static_cast<int32_t>(tile.top) * window.stride_h - window.pad_top;
  const int32_t left = static_cast<int32_t>(tile.left) * window.stride_w - window.pad_left;
  const size_t pixel_stride = x.pixel_stride(), w = static_cast<size_t>(x.w());
  const T* const image = x.data<T>() + tile.image * x.h() * w * pixel_stride;
  // The columns of the tile that lie inside of the image.
  const int32_t begin = left < 0 ? -left : 0, end = left + n > x.w() ? x.w() - left : n;
  for (int32_t i = top; i < top + n; ++i) {
    int32_t j = 0;
    if (i >= 0 && i < x.h() && begin < end) {
      for (; j < begin; ++j) *a++ = padding;
      const size_t place = static_cast<size_t>(i) * w + static_cast<size_t>(left + begin);
      const T* pixel = image + place * pixel_stride;
      for (; j < end; ++j, pixel += pixel_stride) *a++ = pixel;
    }
    for (; j < n; ++j) *a++ = padding;
  }
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_WINOGRAD_TILES_H_
