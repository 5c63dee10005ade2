#include "generated/attributes/col2im.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

typedef float Lanes __attribute__((vector_size(16)));
constexpr int32_t kVectors = 4, kLanes = 4, kStep = kVectors * kLanes;
constexpr int32_t kMaxTaps = 64;
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
      for (; is_dense_ && begin < end; ++begin) SumLine(begin);
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

  Status Prepare() override { return Bind<NameHash("add")>(attributes().kernel, &add_); }

 private:
  // Windows over an image: ranges of their rows and columns.
  struct Windows {
    size_t image;
    TapRange rows, columns;
  };

  // A tap of the windows over a line: its element for column `i` is at[i] for begin <= i < end.
  struct LineTap {
    const float* at;
    int32_t begin, end;
  };

  void SumLine(size_t line) const;
  void AddLines(size_t line, size_t count) const;
  void AddTap(int32_t tap, const Windows& windows, float* to) const;

  Kernel<BinaryArgs<float>> add_ = nullptr;
  Window window_;
  int32_t rows_, columns_;  // of the windows over an image
  bool is_dense_ = false;   // windows are a pixel apart, and a step of columns or more has all taps
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
  const int64_t last = int64_t{columns_} - window_.pad_left;
  const int64_t first = int64_t{window_.extent_w()} - 1 - window_.pad_left;
  is_dense_ = planes && window_.stride_h == 1 && window_.stride_w == 1 &&
              window_.taps() <= kMaxTaps &&
              (last < w ? last : w) - (first > 0 ? first : 0) >= kStep;
  return Status();
}

// A line of planes: each pixel is a sum in a register, as its order is in AddLines.
void Col2im::SumLine(size_t line) const {
  const Tensor& y = output();
  const auto height = static_cast<size_t>(y.h());
  const auto taps = static_cast<size_t>(window_.taps());
  const float* plane = data<float>(0) + line / height * taps * static_cast<size_t>(rows_) *
                                            static_cast<size_t>(columns_);
  LineTap used[kMaxTaps];
  int count = 0;
  int32_t begin = 0, end = y.w();  // of the columns that all taps reach
  for (int32_t i = 0; i < window_.kernel_h; ++i) {
    const int32_t row =
        static_cast<int32_t>(line % height) + window_.pad_top - i * window_.dilation_h;
    for (int32_t j = 0; j < window_.kernel_w; ++j, plane += int64_t{rows_} * columns_) {
      if (row < 0 || row >= rows_) continue;
      const int32_t left = j * window_.dilation_w - window_.pad_left;
      used[count++] = {plane + int64_t{row} * columns_ - left, left, left + columns_};
      if (begin < left) begin = left;
      if (end > left + columns_) end = left + columns_;
    }
  }
  float* const to = output().data<float>() + line * static_cast<size_t>(y.w());
  for (int32_t x = begin; x < end; x += kStep) {
    if (x > end - kStep) x = end - kStep;  // the last ones again
    Lanes sums[kVectors] = {};
    for (int t = 0; t < count; ++t) {
      for (int v = 0; v < kVectors; ++v) {
        Lanes lanes;
        memcpy(&lanes, used[t].at + x + v * kLanes, sizeof(lanes));
        sums[v] += lanes;
      }
    }
    memcpy(to + x, sums, sizeof(sums));
  }
  const auto add = [&](int32_t first, int32_t stop) {
    for (int32_t x = first; x < stop; ++x) {
      float sum = 0;
      for (int t = 0; t < count; ++t) {
        if (x >= used[t].begin && x < used[t].end) sum += used[t].at[x];
      }
      to[x] = sum;
    }
  };
  add(0, begin);
  add(end, y.w());
}

// Computes lines of one image: each of their pixels gathers the taps of all windows over it, so that
// threads share no pixel and the order of the sums is fixed. Tap by tap, since the windows of a tap
// are adjacent in planes.
void Col2im::AddLines(size_t line, size_t count) const {
  const Tensor& y = output();
  const auto height = static_cast<size_t>(y.h()), width = static_cast<size_t>(y.w());
  const auto channels = static_cast<size_t>(y.c());
  const size_t image = line / height;
  float* const pixels = output().data<float>() + line * width * channels;
  memset(pixels, 0, count * width * channels * sizeof(float));
  const auto top = static_cast<int32_t>(line % height) + window_.pad_top;
  for (int32_t tap = 0; tap < window_.taps(); ++tap) {
    const int32_t i = tap / window_.kernel_w, j = tap % window_.kernel_w;
    const int32_t left = j * window_.dilation_w - window_.pad_left;
    const TapRange inside = TapsInside(columns_, left, window_.stride_w, y.w());
    if (inside.begin >= inside.end) continue;
    // The rows of windows whose tap is in these lines.
    const TapRange rows = TapsInside(rows_, i * window_.dilation_h - top, window_.stride_h,
                                     static_cast<int32_t>(count));
    if (rows.begin >= rows.end) continue;
    const auto at = static_cast<size_t>(left + inside.begin * window_.stride_w);
    const auto first =
        static_cast<size_t>(i * window_.dilation_h - top + rows.begin * window_.stride_h);
    AddTap(tap, {image, rows, inside}, pixels + (first * width + at) * channels);
  }
}

// Adds a tap of windows of an image to the pixels from `to` on, for all groups.
void Col2im::AddTap(int32_t tap, const Windows& windows, float* to) const {
  const Dims& dims = input(0).dims;
  const auto taps = static_cast<size_t>(window_.taps());
  const auto columns = static_cast<size_t>(columns_), channels = static_cast<size_t>(output().c());
  const size_t step = channels * static_cast<size_t>(window_.stride_w);
  const size_t line_step =
      channels * static_cast<size_t>(output().w()) * static_cast<size_t>(window_.stride_h);
  const auto rows = static_cast<size_t>(windows.rows.end - windows.rows.begin);
  const auto count = static_cast<size_t>(windows.columns.end - windows.columns.begin);
  const size_t before = static_cast<size_t>(windows.rows.begin) * columns +
                        static_cast<size_t>(windows.columns.begin);
  if (attributes().planes) {
    const size_t plane = windows.image * taps + static_cast<size_t>(tap);
    const float* from = data<float>(0) + plane * static_cast<size_t>(dims[2]) + before;
    if (step == 1) return add_({to, from, to, count, rows, line_step, columns, line_step, 1, 1});
    for (size_t row = 0; row < rows; ++row, from += columns, to += line_step) {
      for (size_t c = 0; c < count; ++c) to[c * step] += from[c];
    }
    return;
  }
  const auto depth = static_cast<size_t>(dims[2]);
  const size_t own = depth / taps;  // channels of a group
  const size_t window = windows.image * static_cast<size_t>(rows_) * columns + before;
  const float* from = data<float>(0) + window * depth + static_cast<size_t>(tap) * own;
  for (int32_t group = 0; group < dims[0]; ++group, to += own) {
    for (size_t row = 0; row < rows; ++row) {
      float* const y = to + row * line_step;
      add_({y, from + row * columns * depth, y, own, count, step, depth, step, 1, 1});
    }
    from += static_cast<size_t>(dims[1]) * depth;
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Col2im)
