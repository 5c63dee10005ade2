#include "generated/attributes/im2col.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

class Im2col final : public OperatorOf<Im2colAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const auto rows = static_cast<size_t>(input(0).n()) * static_cast<size_t>(out_h_);
    const size_t cost = static_cast<size_t>(output().Count()) / rows;
    pool.For(rows, cost, [this](size_t begin, size_t end, int) {
      for (size_t row = begin; row < end; ++row) WriteRow(row);
    });
  }

 protected:
  Status InferShape() override;

 private:
  void WriteRow(size_t row) const;
  void WriteTap(const float* pixel, float* to) const;

  Window window_;
  int32_t out_h_, out_w_;
};

Status Im2col::InferShape() {
  const Tensor& x = input(0);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, x, false, &out_h_, &out_w_));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0,
                "channels are no multiple of the groups (channels, groups)", x.c(), group);
  const int64_t pixels = int64_t{out_h_} * out_w_;
  const int64_t depth = x.c() / group * window_.taps();
  TRIMTAB_CHECK(pixels <= kMaxElements && x.n() * pixels <= kMaxElements && depth <= kMaxElements,
                "the matrix is too large (pixels, depth)", pixels, depth);
  Dims& dims = output().dims;
  dims.rank = 3;
  dims[0] = static_cast<int32_t>(group);
  dims[1] = static_cast<int32_t>(x.n() * pixels);
  dims[2] = static_cast<int32_t>(depth);
  output().layout = Layout::kPlain;  // the input's layout is for four dimensions
  return Status();
}

// Writes a tap of an output pixel, for all groups; a null `pixel` is padding.
void Im2col::WriteTap(const float* pixel, float* to) const {
  const Dims& dims = output().dims;
  const size_t channels = static_cast<size_t>(input(0).c() / dims[0]);
  const size_t group_stride = static_cast<size_t>(dims[1]) * static_cast<size_t>(dims[2]);
  for (int32_t group = 0; group < dims[0]; ++group, to += group_stride) {
    for (size_t c = 0; c < channels; ++c)
      to[c] = pixel == nullptr ? attributes().pad_value
                               : pixel[static_cast<size_t>(group) * channels + c];
  }
}

// Writes the windows of one output row; rows are counted over all images.
void Im2col::WriteRow(size_t row) const {
  const Tensor& x = input(0);
  const auto out_h = static_cast<size_t>(out_h_), out_w = static_cast<size_t>(out_w_);
  const size_t channels = static_cast<size_t>(x.c() / output().dims[0]);
  const int32_t top = static_cast<int32_t>(row % out_h) * window_.stride_h - window_.pad_top;
  const float* const image = x.data<float>() + row / out_h * static_cast<size_t>(x.h()) *
                                                   static_cast<size_t>(x.w()) * x.pixel_stride();
  float* to = output().data<float>() + row * out_w * static_cast<size_t>(output().dims[2]);
  // The taps of a line of the window are contiguous in the image, and in the matrix.
  const bool contiguous = window_.dilation_w == 1 && attributes().group == 1 &&
                          x.pixel_stride() == static_cast<size_t>(x.c());
  for (int32_t column = 0; column < out_w_; ++column) {
    const int32_t left = column * window_.stride_w - window_.pad_left;
    for (int32_t i = 0; i < window_.kernel_h; ++i) {
      const int32_t line = top + i * window_.dilation_h;
      const bool inside = line >= 0 && line < x.h();
      const float* const pixels = image + static_cast<size_t>(inside ? line : 0) *
                                              static_cast<size_t>(x.w()) * x.pixel_stride();
      if (inside && contiguous && left >= 0 && left + window_.kernel_w <= x.w()) {
        const size_t count = static_cast<size_t>(window_.kernel_w) * channels;
        Copy(to, pixels + static_cast<size_t>(left) * channels, count * sizeof(float));
        to += count;
        continue;
      }
      for (int32_t j = 0; j < window_.kernel_w; ++j, to += channels) {
        const int32_t at = left + j * window_.dilation_w;
        const bool is_pixel = inside && at >= 0 && at < x.w();
        WriteTap(is_pixel ? pixels + static_cast<size_t>(at) * x.pixel_stride() : nullptr, to);
      }
    }
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Im2col)
