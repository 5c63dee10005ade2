#include <string.h>

#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr int64_t kNoDilation[2] = {1, 1};

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
  const float* value =
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
    for (size_t c = 0; c < channels; ++c, ++value) {
      // A window may lie entirely in the padding.
      if (first_y >= end_y || first_x >= end_x) continue;
      size_t best = (static_cast<size_t>(first_y) * width + static_cast<size_t>(first_x));
      best = best * channels + c;
      for (int32_t y = first_y; y < end_y; ++y) {
        for (int32_t at = first_x; at < end_x; ++at) {
          const size_t place =
              (static_cast<size_t>(y) * width + static_cast<size_t>(at)) * channels + c;
          if (from[place] > from[best]) best = place;
        }
      }
      to[best] = *value;
    }
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
