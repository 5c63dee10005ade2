#include "generated/attributes/col2im.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr size_t kBlock = 4096;  // elements of lines that are computed at once, in a cache

class Col2im final : public OperatorOf<Col2imAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& y = output();
    const auto lines = static_cast<size_t>(y.n()) * static_cast<size_t>(y.h());
    const size_t cost = static_cast<size_t>(input(0).Count()) / lines;
    const auto height = static_cast<size_t>(y.h());
    const size_t line = static_cast<size_t>(y.w()) * static_cast<size_t>(y.c());
    const size_t most = line < kBlock ? kBlock / line : 1;
    pool.For(lines, cost, [this, height, most](size_t begin, size_t end, int) {
      while (begin < end) {
        const size_t in_image = height - begin % height;
        size_t count = end - begin < in_image ? end - begin : in_image;
        if (count > most) count = most;
        AddLines(begin, count);
        begin += count;
      }
    });
  }

 protected:
  Status InferShape() override;

 private:
  void AddLines(size_t line, size_t count) const;
  void AddTaps(size_t pixel, size_t count, int32_t tap, float* to) const;
  void AddPlane(size_t pixel, size_t count, int32_t tap, float* to) const;

  Window window_;
  int32_t rows_, columns_;  // of the windows over an image
};

Status Col2im::InferShape() {
  const Tensor& x = input(0);
  const bool planes = attributes().planes;
  const int64_t group = attributes().group;
  const int64_t h = attributes().image_shape[0], w = attributes().image_shape[1];
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  TRIMTAB_CHECK(x.dims.rank == 3 && group >= 1 && (planes || x.dims[0] == group),
                "the input must be [group, pixels, depth] (rank, groups)", x.dims.rank, group);
  TRIMTAB_CHECK(h >= 1 && w >= 1 && h <= kMaxElements && w <= kMaxElements && h * w <= kMaxElements,
                "the size of the image is out of range (height, width)", h, w);
  const int64_t depth = x.dims[planes ? 1 : 2], windows = x.dims[planes ? 2 : 1];
  TRIMTAB_CHECK(depth >= 1 && depth % window_.taps() == 0,
                "the depth is no multiple of the taps (depth, taps)", depth, window_.taps());
  const int64_t channels = group * (depth / window_.taps());
  TRIMTAB_CHECK(channels == 1 || !planes, "images of planes have one channel (channels)", channels);
  TRIMTAB_CHECK(channels <= kMaxElements, "there are too many channels (channels)", channels);
  Tensor image;
  image.dims.rank = 4;
  image.dims[1] = static_cast<int32_t>(channels);
  image.dims[2] = static_cast<int32_t>(h);
  image.dims[3] = static_cast<int32_t>(w);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(image));
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, image, false, &rows_, &columns_));
  const int64_t pixels = int64_t{rows_} * columns_;
  TRIMTAB_CHECK(pixels >= 1 && (planes ? windows == pixels : windows % pixels == 0),
                "the rows are no multiple of the windows of an image (rows, windows)", windows,
                pixels);
  image.dims[0] = planes ? x.dims[0] : static_cast<int32_t>(windows / pixels);
  output().dims = image.dims;
  return Status();
}

// Adds a tap of `count` neighboring windows to their pixels of the image, for all groups.
void Col2im::AddTaps(size_t pixel, size_t count, int32_t tap, float* to) const {
  const Dims& dims = input(0).dims;
  const auto depth = static_cast<size_t>(dims[2]);
  const size_t channels = depth / static_cast<size_t>(window_.taps());
  const float* from = input(0).data<float>() + pixel * depth + static_cast<size_t>(tap) * channels;
  const size_t step = static_cast<size_t>(output().c()) * static_cast<size_t>(window_.stride_w);
  for (int32_t group = 0; group < dims[0]; ++group) {
    for (size_t i = 0; i < count; ++i) {
      const float* const x = from + i * depth;
      float* const y = to + i * step;
      for (size_t c = 0; c < channels; ++c) y[c] += x[c];
    }
    from += static_cast<size_t>(dims[1]) * depth;
    to += channels;
  }
}

// The same for planes.
void Col2im::AddPlane(size_t pixel, size_t count, int32_t tap, float* to) const {
  const auto windows = static_cast<size_t>(input(0).dims[2]);
  const size_t image = pixel / windows;
  const size_t plane = image * static_cast<size_t>(window_.taps()) + static_cast<size_t>(tap);
  const float* const from = input(0).data<float>() + plane * windows + pixel % windows;
  const auto step = static_cast<size_t>(window_.stride_w);
  if (step == 1) {
    for (size_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (size_t i = 0; i < count; ++i) to[i * step] += from[i];
  }
}

// Computes lines of one image: each of their pixels gathers the taps of all windows over it, so that
// threads share no pixel and the order of the sums is fixed. Tap by tap, since the windows of a tap
// are adjacent in planes.
void Col2im::AddLines(size_t line, size_t count) const {
  const Tensor& y = output();
  const auto height = static_cast<size_t>(y.h()), width = static_cast<size_t>(y.w());
  const auto channels = static_cast<size_t>(y.c());
  const size_t windows = line / height * static_cast<size_t>(rows_);  // rows of earlier images
  float* const pixels = output().data<float>() + line * width * channels;
  memset(pixels, 0, count * width * channels * sizeof(float));
  const auto top = static_cast<int32_t>(line % height) + window_.pad_top;
  for (int32_t tap = 0; tap < window_.taps(); ++tap) {
    const int32_t i = tap / window_.kernel_w, j = tap % window_.kernel_w;
    const int32_t left = j * window_.dilation_w - window_.pad_left;
    const TapRange inside = TapsInside(columns_, left, window_.stride_w, y.w());
    if (inside.begin >= inside.end) continue;
    const auto taken = static_cast<size_t>(inside.end - inside.begin);
    const auto at = static_cast<size_t>(left + inside.begin * window_.stride_w);
    for (size_t l = 0; l < count; ++l) {
      const int32_t below = top + static_cast<int32_t>(l) - i * window_.dilation_h;
      const int32_t row = below / window_.stride_h;
      if (below < 0 || below % window_.stride_h != 0 || row >= rows_) continue;
      const size_t first = (windows + static_cast<size_t>(row)) * static_cast<size_t>(columns_) +
                           static_cast<size_t>(inside.begin);
      if (attributes().planes)
        AddPlane(first, taken, tap, pixels + l * width + at);
      else
        AddTaps(first, taken, tap, pixels + (l * width + at) * channels);
    }
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Col2im)
