// Depthwise convolution with computed weights, and its gradients. The channels of a pixel are
// neighbors in memory, so that all three are sums of products of vectors of channels.
#include "generated/attributes/computed_depthwise.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

// Channels whose sums compilers keep in vector registers.
constexpr size_t kBlock = 16;

class ComputedDepthwise final : public OperatorOf<ComputedDepthwiseAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;

 private:
  using Part = ComputedDepthwiseComputes;

  // The input line and column of a tap of an output pixel; false if it is padding.
  struct Tap {
    int32_t i, j;
  };
  bool Inside(Tap tap, int32_t row, int32_t column, size_t* pixel) const;
  void WriteRow(size_t row, size_t first, size_t channels) const;
  void AddRow(size_t row, size_t first, size_t channels) const;
  void AddWeights(size_t first, size_t channels) const;

  size_t channels() const { return static_cast<size_t>(input(0).c()); }

  Window window_;
  int32_t h_, w_;          // of the image
  int32_t out_h_, out_w_;  // of the result
  size_t images_;
};

// Sums of the products of `count` channels.
class Sums {
 public:
  explicit Sums(size_t count) : count_(count) {}

  void Add(const float* a, const float* b) {
    if (count_ == kBlock) {  // a constant number becomes vectors
      float x[kBlock], y[kBlock];
      memcpy(x, a, sizeof(x));
      memcpy(y, b, sizeof(y));
      for (size_t c = 0; c < kBlock; ++c) sums_[c] += x[c] * y[c];
    } else {
      for (size_t c = 0; c < count_; ++c) sums_[c] += a[c] * b[c];
    }
  }

  void CopyTo(float* y) const { memcpy(y, sums_, count_ * sizeof(float)); }

 private:
  float sums_[kBlock] = {};
  size_t count_;
};

Status ComputedDepthwise::InferShape() {
  const Tensor &a = input(0), &b = input(1);
  const bool from_result = attributes().computes == Part::kImage;
  TRIMTAB_RETURN_IF_ERROR(CheckImage(a));
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  Tensor image = a;
  TRIMTAB_CHECK(attributes().image_shape.size == (from_result ? 2 : 0),
                "image_shape must have two sizes for the gradient of the image, otherwise none",
                attributes().image_shape.size);
  if (from_result) {
    for (uint32_t i = 0; i < 2; ++i) {
      const int64_t size = attributes().image_shape[i];
      TRIMTAB_CHECK(size >= 1 && size <= kMaxElements, "a size of the image is out of range", size);
      image.dims[2 + static_cast<int>(i)] = static_cast<int32_t>(size);
    }
    TRIMTAB_RETURN_IF_ERROR(CheckImage(image));
  }
  h_ = image.h();
  w_ = image.w();
  images_ = static_cast<size_t>(a.n());
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, image, false, &out_h_, &out_w_));
  Dims result = a.dims, weights;
  result[2] = out_h_;
  result[3] = out_w_;
  weights.rank = 2;
  weights[0] = window_.taps();
  weights[1] = a.c();
  if (attributes().computes == Part::kWeights) {
    TRIMTAB_CHECK(b.dims == result, "b must be the gradient of the result (height, width)", out_h_,
                  out_w_);
    output().dims = weights;
    output().layout = Layout::kPlain;  // the input's layout is for four dimensions
    return Status();
  }
  TRIMTAB_CHECK(!from_result || a.dims == result,
                "a must be the gradient of the result (height, width)", out_h_, out_w_);
  TRIMTAB_CHECK(b.dims == weights, "b must be [taps, channels] (taps, channels)", weights[0],
                weights[1]);
  output().dims = from_result ? image.dims : result;
  return Status();
}

bool ComputedDepthwise::Inside(Tap tap, int32_t row, int32_t column, size_t* pixel) const {
  const int32_t y = row * window_.stride_h - window_.pad_top + tap.i * window_.dilation_h;
  const int32_t x = column * window_.stride_w - window_.pad_left + tap.j * window_.dilation_w;
  *pixel = static_cast<size_t>(y) * static_cast<size_t>(w_) + static_cast<size_t>(x);
  return y >= 0 && y < h_ && x >= 0 && x < w_;
}

// Computes channels of one row of the result; rows are counted over all images.
void ComputedDepthwise::WriteRow(size_t row, size_t first, size_t count) const {
  const auto out_h = static_cast<size_t>(out_h_), out_w = static_cast<size_t>(out_w_);
  const size_t stride = channels();
  const float* const image =
      data<float>(0) + row / out_h * static_cast<size_t>(h_) * static_cast<size_t>(w_) * stride;
  const float* const weights = data<float>(1) + first;
  float* y = output().data<float>() + row * out_w * stride + first;
  for (int32_t column = 0; column < out_w_; ++column, y += stride) {
    Sums sums(count);
    const float* w = weights;
    for (Tap tap = {0, 0}; tap.i < window_.kernel_h; ++tap.i) {
      for (tap.j = 0; tap.j < window_.kernel_w; ++tap.j, w += stride) {
        size_t pixel;
        if (Inside(tap, static_cast<int32_t>(row % out_h), column, &pixel))
          sums.Add(image + pixel * stride + first, w);
      }
    }
    sums.CopyTo(y);
  }
}

// Computes channels of one row of the image's gradient: each pixel gathers the taps of all windows
// over it, so that threads share no pixel and the order of the sums is fixed.
void ComputedDepthwise::AddRow(size_t row, size_t first, size_t count) const {
  const auto height = static_cast<size_t>(h_), out_w = static_cast<size_t>(out_w_);
  const size_t stride = channels();
  const float* const gradient =
      data<float>(0) + row / height * static_cast<size_t>(out_h_) * out_w * stride + first;
  const float* const weights = data<float>(1) + first;
  float* y = output().data<float>() + row * static_cast<size_t>(w_) * stride + first;
  for (int32_t column = 0; column < w_; ++column, y += stride) {
    Sums sums(count);
    const float* w = weights;
    for (int32_t i = 0; i < window_.kernel_h; ++i) {
      const int32_t down =
          static_cast<int32_t>(row % height) + window_.pad_top - i * window_.dilation_h;
      const int32_t out_row = down / window_.stride_h;
      const bool has_row = down >= 0 && down % window_.stride_h == 0 && out_row < out_h_;
      for (int32_t j = 0; j < window_.kernel_w; ++j, w += stride) {
        const int32_t right = column + window_.pad_left - j * window_.dilation_w;
        const int32_t out_column = right / window_.stride_w;
        if (!has_row || right < 0 || right % window_.stride_w != 0 || out_column >= out_w_)
          continue;
        const size_t pixel = static_cast<size_t>(out_row) * out_w + static_cast<size_t>(out_column);
        sums.Add(gradient + pixel * stride, w);
      }
    }
    sums.CopyTo(y);
  }
}

// Computes the gradient of the weights of some channels.
void ComputedDepthwise::AddWeights(size_t first, size_t count) const {
  const size_t stride = channels();
  const size_t pixels = static_cast<size_t>(h_) * static_cast<size_t>(w_);
  float* y = output().data<float>() + first;
  for (Tap tap = {0, 0}; tap.i < window_.kernel_h; ++tap.i) {
    for (tap.j = 0; tap.j < window_.kernel_w; ++tap.j, y += stride) {
      Sums sums(count);
      const float *image = data<float>(0) + first, *gradient = data<float>(1) + first;
      for (size_t n = 0; n < images_; ++n, image += pixels * stride) {
        for (int32_t row = 0; row < out_h_; ++row) {
          for (int32_t column = 0; column < out_w_; ++column, gradient += stride) {
            size_t pixel;
            if (Inside(tap, row, column, &pixel)) sums.Add(image + pixel * stride, gradient);
          }
        }
      }
      sums.CopyTo(y);
    }
  }
}

void ComputedDepthwise::Run(ThreadPool& pool) {
  const Part part = attributes().computes;
  const size_t blocks = (channels() + kBlock - 1) / kBlock;
  const size_t taps = static_cast<size_t>(window_.taps());
  const size_t rows = part == Part::kWeights ? 1 : images_ * static_cast<size_t>(output().h());
  const size_t cost = static_cast<size_t>(input(part == Part::kWeights).Count()) * taps;
  pool.For(rows * blocks, cost / (rows * blocks) + 1, [&](size_t begin, size_t end, int) {
    for (size_t item = begin; item < end; ++item) {
      const size_t row = item / blocks, first = item % blocks * kBlock;
      const size_t count = Min(kBlock, channels() - first);
      if (part == Part::kResult) {
        WriteRow(row, first, count);
      } else if (part == Part::kImage) {
        AddRow(row, first, count);
      } else {
        AddWeights(first, count);
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedDepthwise)
