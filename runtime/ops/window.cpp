#include "runtime/ops/window.h"

#include "kernels/kernel_api.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

// Bounds that keep coordinates, and products such as out * stride, within int32.
constexpr int64_t kMaxWindow = 1 << 20;
constexpr int32_t kMaxImage = 1 << 24;

bool Within(const IntList& list, uint32_t size, int64_t minimum) {
  if (list.size != size) return false;
  for (uint32_t i = 0; i < size; ++i) {
    if (list[i] < minimum || list[i] > kMaxWindow) return false;
  }
  return true;
}

int32_t OutputSize(int32_t size, int32_t pad_begin, int32_t pad_end, int32_t extent, int32_t stride,
                   bool ceil_mode) {
  const int32_t room = size + pad_begin + pad_end - extent;
  if (room < 0) return 0;
  if (!ceil_mode) return room / stride + 1;
  const int32_t count = (room + stride - 1) / stride + 1;
  return (count - 1) * stride >= size + pad_begin ? count - 1 : count;
}

// One comparison for both ends of [0, size).
inline bool Inside(int32_t position, int32_t size) {
  return static_cast<uint32_t>(position) < static_cast<uint32_t>(size);
}

// Writes pointers to `count` taps of line in_y from in_x on, `step` entries apart. Returns the next
// entry.
template <typename T>
const T** PointAtLine(const WindowSource<T>& source, const T* image, int32_t in_y, int32_t in_x,
                      int32_t count, int32_t step, const T** to) {
  const int32_t dilation = source.window.dilation_w;
  TapRange inside = TapsInside(count, in_x, dilation, source.w);
  if (!Inside(in_y, source.h)) inside = {count, count};
  const auto [begin, end] = inside;
  // Unsigned: it wraps where the first column lies outside of the image.
  const size_t first = static_cast<size_t>(in_x) + static_cast<size_t>(begin) * dilation;
  const size_t line = static_cast<size_t>(in_y % source.lines);
  size_t place = (line * source.w + first) * source.pixel_stride;
  int32_t i = 0;
  for (; i < begin; ++i, to += step) *to = source.padding;
  for (; i < end; ++i, to += step, place += dilation * source.pixel_stride) *to = image + place;
  for (; i < count; ++i, to += step) *to = source.padding;
  return to;
}

}  // namespace

TapRange TapsInside(int32_t count, int32_t left, int32_t dilation, int32_t w) {
  // A division takes as long as the products of a narrow group with the tap.
  const auto steps = [=](int32_t size) {
    return dilation == 1 ? size : (size + dilation - 1) / dilation;
  };
  const int32_t begin = left < 0 ? steps(-left) : 0, end = left < w ? steps(w - left) : 0;
  return {begin < count ? begin : count, end < count ? end : count};
}

Status ReadWindow(int64_t kernel_h, int64_t kernel_w, const IntList& strides, const IntList& pads,
                  const IntList& dilations, Window* window) {
  TRIMTAB_CHECK(kernel_h >= 1 && kernel_w >= 1 && kernel_h <= kMaxWindow && kernel_w <= kMaxWindow,
                "kernel size is out of range", kernel_h, kernel_w);
  TRIMTAB_CHECK(Within(strides, 2, 1), "strides are out of range");
  TRIMTAB_CHECK(Within(pads, 4, 0), "pads are out of range");
  TRIMTAB_CHECK(Within(dilations, 2, 1), "dilations are out of range");
  TRIMTAB_CHECK(
      (kernel_h - 1) * dilations[0] < kMaxImage && (kernel_w - 1) * dilations[1] < kMaxImage,
      "the dilated kernel is too large");
  TRIMTAB_CHECK(kernel_h * kernel_w <= kMaxWindow, "kernel size is out of range", kernel_h,
                kernel_w);
  *window = {static_cast<int32_t>(kernel_h),     static_cast<int32_t>(kernel_w),
             static_cast<int32_t>(strides[0]),   static_cast<int32_t>(strides[1]),
             static_cast<int32_t>(pads[0]),      static_cast<int32_t>(pads[1]),
             static_cast<int32_t>(pads[2]),      static_cast<int32_t>(pads[3]),
             static_cast<int32_t>(dilations[0]), static_cast<int32_t>(dilations[1])};
  return Status();
}

Status CheckImage(const Tensor& x) {
  TRIMTAB_CHECK(x.dims.rank == 4, "input must have four dimensions", x.dims.rank);
  TRIMTAB_CHECK(x.c() > 0 && x.h() <= kMaxImage && x.w() <= kMaxImage, "input has an illegal size");
  return Status();
}

Status WindowOutput(const Window& window, const Tensor& x, bool ceil_mode, int32_t* h, int32_t* w) {
  *h = OutputSize(x.h(), window.pad_top, window.pad_bottom, window.extent_h(), window.stride_h,
                  ceil_mode);
  *w = OutputSize(x.w(), window.pad_left, window.pad_right, window.extent_w(), window.stride_w,
                  ceil_mode);
  TRIMTAB_CHECK(*h > 0 && *w > 0, "the window is larger than the padded input (height, width)",
                x.h(), x.w());
  return Status();
}

Status ReadConvolution(const ConvolutionOperands& operands, const IntList& strides,
                       const IntList& pads, const IntList& dilations, Window* window, Dims* y) {
  const Tensor &x = operands.x, &w = operands.w;
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_CHECK(w.dims.rank == 4 && w.dims[0] >= 1, "weights must have four dimensions",
                w.dims.rank);
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(w.dims[2], w.dims[3], strides, pads, dilations, window));
  *y = x.dims;
  (*y)[1] = w.dims[0];
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(*window, x, false, &(*y)[2], &(*y)[3]));
  TRIMTAB_CHECK(operands.bias == nullptr || operands.bias->Count() == w.dims[0],
                "bias does not fit the output's channels", w.dims[0]);
  TRIMTAB_CHECK(operands.residual == nullptr || operands.residual->dims == *y,
                "residual does not have the output's shape");
  return Status();
}

namespace {

// A pixel of the output, and its window.
template <typename T>
struct OutputPixel {
  OutputPixel(const WindowSource<T>& window_source, size_t pixel) : source(window_source) {
    const size_t line = pixel / source.out_w;
    x = pixel - line * source.out_w;
    image = line / source.out_h;
    y = line - image * source.out_h;
  }

  int32_t top() const {
    return static_cast<int32_t>(y) * source.window.stride_h - source.window.pad_top;
  }
  int32_t left() const {
    return static_cast<int32_t>(x) * source.window.stride_w - source.window.pad_left;
  }
  // Elements to the top left tap. It may lie outside of the image: the number is unsigned and
  // wraps, and the sum with a tap that lies inside is correct.
  size_t place() const {
    return ((image * source.h + top()) * source.w + left()) * source.pixel_stride;
  }
  // Number of neighbors in the line, from this pixel on, whose taps all lie inside of the image.
  size_t InsideOfLine() const {
    const Window& window = source.window;
    const int32_t room = source.w - left() - window.extent_w();
    if (top() < 0 || top() + window.extent_h() > source.h || left() < 0 || room < 0) return 0;
    return Min(static_cast<size_t>(room / window.stride_w) + 1, source.out_w - x);
  }
  // Advances by pixels of this line; behind its last one, to the next line.
  void Next(size_t count = 1) {
    x += count;
    if (x < static_cast<size_t>(source.out_w)) return;
    x = 0;
    if (++y < static_cast<size_t>(source.out_h)) return;
    y = 0;
    ++image;
  }

  const WindowSource<T>& source;
  size_t image, y, x;
};

// Writes pointers to the taps of neighbors in a line, which all lie inside of the image, in kernel
// rows of `columns` taps; `first` is their first tap. Returns the end of the pointers.
template <typename T>
const T** PointAtNeighbors(const WindowSource<T>& source, const T* first, int32_t columns,
                           size_t rows, size_t mr, const T** a) {
  const Window& window = source.window;
  const size_t step = window.stride_w * source.pixel_stride;
  const size_t right_step = window.dilation_w * source.pixel_stride;
  const size_t down_step = static_cast<size_t>(source.w) * window.dilation_h * source.pixel_stride -
                           columns * right_step;
  for (; rows > 0; first += mr * step) {
    const size_t used = Min(rows, mr);
    const T* tap = first;
    for (int32_t ky = window.kernel_h; ky > 0; --ky, tap += down_step) {
      for (int32_t kx = columns; kx > 0; --kx, tap += right_step) {
        const T* pixel = tap;
        size_t i = used;
        for (; i > 1; i -= 2, pixel += 2 * step, a += 2) {
          a[0] = pixel;
          a[1] = pixel + step;
        }
        if (i > 0) *a++ = pixel;
        for (i = used; i < mr; ++i) *a++ = tap;
      }
    }
    rows -= used;
  }
  return a;
}

}  // namespace

template <typename T>
size_t PointAtTiles(const WindowSource<T>& source, size_t pixel, size_t rows, size_t mr,
                    size_t channel, size_t k, const T** a, size_t* tap_count,
                    size_t* tap_elements) {
  const Window& window = source.window;
  const T* const x = source.x + channel;
  OutputPixel<T> at(source, pixel);
  // Neighbors inside of the image, from `at` on: all `left` ones, or whole tiles.
  const auto neighbors = [&](size_t left) {
    const size_t inside = at.InsideOfLine();
    return inside < left ? inside - inside % mr : left;
  };

  int32_t columns = window.kernel_w;
  if (k == source.pixel_stride && (window.dilation_w == 1 || columns == 1)) {
    // A kernel row inside of the image is one tap.
    const size_t inside = neighbors(rows);
    rows = inside > 0 ? inside : Min(rows, mr);
    if (inside > 0) columns = 1;
  }
  const size_t taps = static_cast<size_t>(window.kernel_h * columns);
  const size_t right_step = window.dilation_w * source.pixel_stride;
  const size_t down_step = static_cast<size_t>(source.w) * window.dilation_h * source.pixel_stride -
                           columns * right_step;
  for (size_t left = rows; left > 0;) {
    size_t count = neighbors(left);
    if (count > 0) {
      // The place may wrap where padding is subtracted; the sum is correct again.
      a = PointAtNeighbors(source, x + at.place(), columns, count, mr, a);
      at.Next(count);
    } else {
      count = Min(left, mr);
      for (size_t i = 0; i < mr; ++i) {
        size_t place = at.place();
        const T** to = a + i;
        const TapRange inside = TapsInside(columns, at.left(), window.dilation_w, source.w);
        int32_t down = at.top();
        for (int32_t ky = window.kernel_h; ky > 0; --ky, place += down_step) {
          const int32_t end = Inside(down, source.h) ? inside.end : 0;
          for (int32_t kx = 0; kx < columns; ++kx, place += right_step, to += mr)
            *to = kx >= inside.begin && kx < end ? x + place : source.padding;
          down += window.dilation_h;
        }
        if (i + 1 < count) at.Next();  // rows past the last repeat it
      }
      at.Next();
      a += mr * taps;
    }
    left -= count;
  }
  *tap_count = taps;
  *tap_elements = columns == window.kernel_w ? k : static_cast<size_t>(window.kernel_w) * k;
  return rows;
}

template <typename T>
void PointAtRows(const WindowSource<T>& source, const TapColumns& columns, size_t row, size_t x,
                 size_t pixels, const T** a) {
  const Window& window = source.window;
  const int32_t top = static_cast<int32_t>(row % source.out_h) * window.stride_h - window.pad_top;
  const int32_t left = static_cast<int32_t>(x) * window.stride_w - window.pad_left;
  const T* const image = source.x + row / source.out_h * source.h * source.w * source.pixel_stride;

  // The windows of neighbors that share columns are one window of more columns.
  const bool shared = window.shares_columns();
  const size_t windows = shared ? 1 : pixels;
  const int32_t count = shared
                            ? (static_cast<int32_t>(pixels) - 1) * window.stride_w + window.kernel_w
                            : window.kernel_w;
  for (int32_t i = 0; i < columns.column; ++i) {
    const int32_t in_y = top + i * window.dilation_h;
    const T** to = a + i;
    int32_t in_x = left;
    for (size_t p = 0; p < windows; ++p, in_x += window.stride_w)
      to = PointAtLine(source, image, in_y, in_x, count, columns.column, to);
  }
}

template size_t PointAtTiles(const WindowSource<Half>&, size_t, size_t, size_t, size_t, size_t,
                             const Half**, size_t*, size_t*);
template size_t PointAtTiles(const WindowSource<float>&, size_t, size_t, size_t, size_t, size_t,
                             const float**, size_t*, size_t*);
template void PointAtRows(const WindowSource<Half>&, const TapColumns&, size_t, size_t, size_t,
                          const Half**);
template void PointAtRows(const WindowSource<float>&, const TapColumns&, size_t, size_t, size_t,
                          const float**);
template size_t PointAtTiles(const WindowSource<int8_t>&, size_t, size_t, size_t, size_t, size_t,
                             const int8_t**, size_t*, size_t*);
template void PointAtRows(const WindowSource<int8_t>&, const TapColumns&, size_t, size_t, size_t,
                          const int8_t**);

}  // namespace trimtab
