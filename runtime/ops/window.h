// Sliding windows: geometry and input pointers, shared by convolution and pooling.
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
  // True if output pixel (y, x) reads exactly input pixel (y, x).
  bool pointwise() const {
    return taps() == 1 && stride_h == 1 && stride_w == 1 &&
           (pad_top | pad_left | pad_bottom | pad_right) == 0;
  }
  // True if the windows of neighboring outputs together are one wider (or higher) window of
  // contiguous taps.
  bool shares_columns() const { return dilation_w == 1 && stride_w <= kernel_w; }
  bool shares_rows() const { return dilation_h == 1 && stride_h <= kernel_h; }
  // Pixels from the first to the last tap, both included.
  int32_t extent_h() const { return (kernel_h - 1) * dilation_h + 1; }
  int32_t extent_w() const { return (kernel_w - 1) * dilation_w + 1; }
};

// The taps [begin, end) that lie inside of a line of `w` pixels, of `count` taps from column `left`
// on.
struct TapRange {
  int32_t begin, end;
};
TapRange TapsInside(int32_t count, int32_t left, int32_t dilation, int32_t w);

// Checks the attributes of a window. Lists are in ONNX order: strides and dilations {h, w}, pads
// {top, left, bottom, right}.
Status ReadWindow(int64_t kernel_h, int64_t kernel_w, const IntList& strides, const IntList& pads,
                  const IntList& dilations, Window* window);

// Checks that `x` is [n, c, h, w] with c > 0 and coordinates that fit int32 arithmetic.
Status CheckImage(const Tensor& x);

// Output size of a window over `x` (ONNX MaxPool). With `ceil_mode` the last window may reach past
// the bottom and right padding but begins inside the image or the top and left padding.
Status WindowOutput(const Window& window, const Tensor& x, bool ceil_mode, int32_t* h, int32_t* w);

// The operands of a convolution; null: absent.
struct ConvolutionOperands {
  const Tensor &x, &w;
  const Tensor *bias, *residual;
};

// Reads the window of a convolution and infers the shape of its result. Checks all operands, except
// the second dimension of w, which depends on the groups.
Status ReadConvolution(const ConvolutionOperands& operands, const IntList& strides,
                       const IntList& pads, const IntList& dilations, Window* window, Dims* y);

// An NHWC image and the window over it.
template <typename T>
struct WindowSource {
  Window window;
  int32_t h, w;          // of the input
  int32_t out_h, out_w;  // of the output
  size_t pixel_stride;   // elements between neighboring pixels
  const T* x;
  const T* padding;  // pointer for taps outside of the image
  // Ring buffer: line y is at y modulo `lines`. Only PointAtRows supports this.
  int32_t lines = INT32_MAX;
};

// Writes pointers for indirect GEMM: the taps of at most `rows` output pixels from `pixel` on
// (counted over all images), in tiles of mr. Tap t of row i of a tile is at a[t * mr + i]; tiles
// are consecutive; rows past the last repeat a valid one. `channel`: offset inside a pixel. If the
// pixels are in one line, no tap lies outside and `k` is the whole pixel, a kernel row is contiguous
// and becomes one tap of kernel_w * k elements. Returns the number of pixels written: all, or whole
// tiles, as long as they have the same taps.
template <typename T>
size_t PointAtTiles(const WindowSource<T>& source, size_t pixel, size_t rows, size_t mr,
                    size_t channel, size_t k, const T** a, size_t* tap_count, size_t* tap_elements);

// Layout of the pointers to the taps of a block of output pixels: tap (i, j) of pixel p in row r is
// at a[(p * step_w + j) * column + r * stride_h + i].
struct TapColumns {
  int32_t column, step_w;

  // `rows` > 1 requires a window that shares rows.
  TapColumns(const Window& window, int32_t rows)
      : column((rows - 1) * window.stride_h + window.kernel_h),
        step_w(window.shares_columns() ? window.stride_w : window.kernel_w) {}
  // Number of pointers for `pixels` neighbors per row.
  int64_t Count(const Window& window, int64_t pixels) const {
    return ((pixels - 1) * step_w + window.kernel_w) * column;
  }
};

// Writes pointers to the taps of `pixels` neighbors from `x` on, in one or more output rows of an
// image, from `row` on (counted over all images).
template <typename T>
void PointAtRows(const WindowSource<T>& source, const TapColumns& columns, size_t row, size_t x,
                 size_t pixels, const T** a);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_WINDOW_H_
