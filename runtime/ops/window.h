// Windows that slide over images: geometry and input pointers, shared by convolution and pooling.
#ifndef TRIMTAB_OPS_WINDOW_H_
#define TRIMTAB_OPS_WINDOW_H_

#include "runtime/core/attributes.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// In pixels. After ReadWindow every value is small enough for int32 arithmetic on coordinates.
struct Window {
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t pad_top, pad_left, pad_bottom, pad_right;
  int32_t dilation_h, dilation_w;

  int32_t taps() const { return kernel_h * kernel_w; }
  // True when output pixels see exactly the input pixels at their own places.
  bool pointwise() const {
    return taps() == 1 && stride_h == 1 && stride_w == 1 &&
           (pad_top | pad_left | pad_bottom | pad_right) == 0;
  }
  // True when neighboring outputs' windows, without gaps between taps, make one wider (or higher)
  // window.
  bool shares_columns() const { return dilation_w == 1 && stride_w <= kernel_w; }
  bool shares_rows() const { return dilation_h == 1 && stride_h <= kernel_h; }
  // Pixels from the first to the last tap, both included.
  int32_t extent_h() const { return (kernel_h - 1) * dilation_h + 1; }
  int32_t extent_w() const { return (kernel_w - 1) * dilation_w + 1; }
};

// The taps that lie inside of a line of `w` pixels, from `begin` up to `end`, of `count` that begin
// at column `left`.
struct TapRange {
  int32_t begin, end;
};
TapRange TapsInside(int32_t count, int32_t left, int32_t dilation, int32_t w);

// Checks the attributes of a window. Lists are in ONNX order: strides and dilations {h, w}, pads
// {top, left, bottom, right}.
Status ReadWindow(int64_t kernel_h, int64_t kernel_w, const IntList& strides, const IntList& pads,
                  const IntList& dilations, Window* window);

// Checks that `x` is [n, c, h, w] with c > 0 and coordinates that fit ReadWindow's promise.
Status CheckImage(const Tensor& x);

// Output size of a window over `x` (ONNX MaxPool). With `ceil_mode` the last window may hang over
// the bottom and right edge but begins inside the image or the top and left padding.
Status WindowOutput(const Window& window, const Tensor& x, bool ceil_mode, int32_t* h, int32_t* w);

// The operands of a convolution; bias and residual are null where there is none.
struct ConvolutionOperands {
  const Tensor &x, &w;
  const Tensor *bias, *residual;
};

// Reads the window of a convolution and gives the shape of its result. Checks all operands, but that
// the second dimension of w fits the groups.
Status ReadConvolution(const ConvolutionOperands& operands, const IntList& strides,
                       const IntList& pads, const IntList& dilations, Window* window, Dims* y);

// Where the taps of output pixels lie in an NHWC image.
template <typename T>
struct WindowSource {
  Window window;
  int32_t h, w;          // of the input
  int32_t out_h, out_w;  // of the output
  size_t pixel_stride;   // elements from one pixel to the next
  const T* x;
  const T* padding;  // what taps outside of the image point at
  // Where fewer lines than h are in memory: line y lies where y modulo this one would. Only
  // PointAtRows knows it.
  int32_t lines = INT32_MAX;
};

// Pointers for indirect GEMM: taps of at most `rows` output pixels from `pixel` (counted over all
// images) on, in tiles of mr: tap t of row i of a tile is at a[t * mr + i], and the next tile's
// follow; rows past the last repeat it. `channel` is added inside the image. When no tap lies
// outside and `k` is the whole pixel, a kernel row is contiguous and becomes one tap of kernel_w *
// k elements. Returns how many pixels it took: all, or whole tiles, as long as these have taps
// alike.
template <typename T>
size_t PointAtTiles(const WindowSource<T>& source, size_t pixel, size_t rows, size_t mr,
                    size_t channel, size_t k, const T** a, size_t* tap_count, size_t* tap_elements);

// Columns of pointers to the taps of a block of output pixels: tap (i, j) of pixel p in row r is at
// a[(p * step_w + j) * column + r * stride_h + i].
struct TapColumns {
  int32_t column, step_w;

  // `rows` > 1 only where the window shares rows.
  TapColumns(const Window& window, int32_t rows)
      : column((rows - 1) * window.stride_h + window.kernel_h),
        step_w(window.shares_columns() ? window.stride_w : window.kernel_w) {}
  // How many pointers `pixels` neighbors in each row take.
  int64_t Count(const Window& window, int64_t pixels) const {
    return ((pixels - 1) * step_w + window.kernel_w) * column;
  }
};

// Points `a` at the taps of `pixels` neighbors from `x` on, in one or more output rows of an image
// from `row` (counted over all images) on.
template <typename T>
void PointAtRows(const WindowSource<T>& source, const TapColumns& columns, size_t row, size_t x,
                 size_t pixels, const T** a);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_WINDOW_H_
