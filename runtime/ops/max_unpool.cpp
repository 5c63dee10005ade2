#include "generated/attributes/max_unpool.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr int64_t kNoDilation[2] = {1, 1};
constexpr size_t kLanes = 16;  // channels that one window searches together

// Pixels of a window that lie inside of the image. Pointers are at the first one and first channel.
struct InnerWindow {
  int32_t height, width;
  size_t row_stride, pixel_stride;  // in elements

  size_t Offset(int32_t y, int32_t x) const {
    return static_cast<size_t>(y) * row_stride + static_cast<size_t>(x) * pixel_stride;
  }
};

// Puts each of `count` values, at most kLanes, at the first maximum of its channel. Without branches
// on data, and of constant length where `count` is a constant, so that compilers vectorize it.
inline void PutChannels(const InnerWindow& window, const float* from, const float* values,
                        size_t count, float* to) {
  float largest[kLanes];
  int32_t best[kLanes] = {};
  for (size_t c = 0; c < count; ++c) largest[c] = from[c];
  for (int32_t y = 0; y < window.height; ++y) {
    for (int32_t x = 0; x < window.width; ++x) {
      const float* const pixel = from + window.Offset(y, x);
      const int32_t tap = y * window.width + x;
      for (size_t c = 0; c < count; ++c) {
        const bool larger = pixel[c] > largest[c];
        largest[c] = larger ? pixel[c] : largest[c];
        best[c] = larger ? tap : best[c];
      }
    }
  }
  for (int32_t y = 0; y < window.height; ++y) {
    for (int32_t x = 0; x < window.width; ++x) {
      float* const pixel = to + window.Offset(y, x);
      const int32_t tap = y * window.width + x;
      for (size_t c = 0; c < count; ++c) pixel[c] = best[c] == tap ? values[c] : pixel[c];
    }
  }
}

// All channels of a window. The last block may repeat channels of the one before, which changes
// nothing.
void PutWindow(const InnerWindow& window, const float* from, const float* values, float* to) {
  const size_t channels = window.pixel_stride;
  if (channels < kLanes) return PutChannels(window, from, values, channels, to);
  for (size_t c = 0; c < channels; c += kLanes) {
    const size_t first = c + kLanes <= channels ? c : channels - kLanes;
    PutChannels(window, from + first, values + first, kLanes, to + first);
  }
}

class MaxUnpool final : public OperatorOf<MaxUnpoolAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;

 private:
  void PutRow(size_t image, int32_t row) const;

  Window window_;
};

Status MaxUnpool::InferShape() {
  const Tensor &x = input(0), &source = input(1);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(source));
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads, {kNoDilation, 2},
                                     &window_));
  Dims pooled = source.dims;
  TRIMTAB_RETURN_IF_ERROR(
      WindowOutput(window_, source, attributes().ceil_mode, &pooled[2], &pooled[3]));
  TRIMTAB_CHECK(x.dims == pooled, "input size differs from the pool's (expected height, width)",
                pooled[2], pooled[3]);
  output().dims = source.dims;
  return Status();
}

// Scatters the values of one row of the input.
void MaxUnpool::PutRow(size_t image, int32_t row) const {
  const Tensor &x = input(0), &source = input(1);
  const auto channels = static_cast<size_t>(x.c()), width = static_cast<size_t>(source.w());
  const size_t pixels = static_cast<size_t>(source.h()) * width;
  const float* const from = source.data<float>() + image * pixels * channels;
  float* const to = output().data<float>() + image * pixels * channels;
  const float* const values =
      x.data<float>() +
      (image * static_cast<size_t>(x.h()) + static_cast<size_t>(row)) * x.w() * channels;
  const int32_t top = row * window_.stride_h - window_.pad_top;
  const int32_t first_y = top < 0 ? 0 : top;
  const int32_t end_y = top + window_.kernel_h < source.h() ? top + window_.kernel_h : source.h();
  for (int32_t column = 0; column < x.w(); ++column) {
    const int32_t left = column * window_.stride_w - window_.pad_left;
    const int32_t first_x = left < 0 ? 0 : left;
    const int32_t end_x =
        left + window_.kernel_w < source.w() ? left + window_.kernel_w : source.w();
    // A window may lie entirely in the padding.
    if (first_y >= end_y || first_x >= end_x) continue;
    const InnerWindow inner{end_y - first_y, end_x - first_x, width * channels, channels};
    const size_t first =
        (static_cast<size_t>(first_y) * width + static_cast<size_t>(first_x)) * channels;
    PutWindow(inner, from + first, values + static_cast<size_t>(column) * channels, to + first);
  }
}

void MaxUnpool::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const auto height = static_cast<size_t>(x.h()), rows = static_cast<size_t>(x.n()) * height;
  memset(output().raw, 0, static_cast<size_t>(output().Count()) * sizeof(float));
  // Where windows overlap, the later one wins: one thread processes the rows of an image in order.
  const size_t unit = window_.stride_h < window_.kernel_h ? height : 1;
  const size_t cost = unit * static_cast<size_t>(x.w()) * static_cast<size_t>(x.c()) *
                      static_cast<size_t>(window_.taps());
  pool.For(rows / unit, cost, [&](size_t begin, size_t end, int) {
    for (size_t row = begin * unit; row < end * unit; ++row)
      PutRow(row / height, static_cast<int32_t>(row % height));
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(MaxUnpool)
