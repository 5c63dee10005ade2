#include "runtime/ops/padded_planes.h"

#include "runtime/core/copy.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

void Clear(float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = 0.0f;
}

// Every other element, in a loop that vectorizes.
void TakeEven(const float* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = from[2 * i];
}

}  // namespace

void PaddedPlanes::SetUp(const Window& window, const Tensor& x, const Tensor& y) {
  window_ = window;
  const auto stride = static_cast<size_t>(window.stride_w);
  const size_t read =
      static_cast<size_t>(y.w() - 1) * stride + static_cast<size_t>(window.extent_w());
  const size_t padded = static_cast<size_t>(x.w()) + static_cast<size_t>(window.pad_left);
  phase_ = DivideUp(read > padded ? read : padded, stride);
  line_ = phase_ * stride;
  lines_ = (Rows(y, 0) - 1) * static_cast<size_t>(window.stride_h) +
           static_cast<size_t>(window.extent_h());
}

size_t PaddedPlanes::Rows(const Tensor& y, int32_t row) const {
  return static_cast<size_t>(y.h() - row < kRows ? y.h() - row : kRows);
}

size_t PaddedPlanes::Offset(int32_t i, int32_t j) const {
  const auto right = static_cast<size_t>(j) * static_cast<size_t>(window_.dilation_w);
  const auto stride = static_cast<size_t>(window_.stride_w);
  return static_cast<size_t>(i) * static_cast<size_t>(window_.dilation_h) * line_ +
         right % stride * phase_ + right / stride;
}

void PaddedPlanes::Copy(const Tensor& x, size_t plane, int32_t row, float* to) const {
  const auto w = static_cast<size_t>(x.w()), stride = static_cast<size_t>(window_.stride_w);
  const auto left = static_cast<size_t>(window_.pad_left);
  const float* const from = x.data<float>() + plane * static_cast<size_t>(x.h()) * w;
  int32_t at = row * window_.stride_h - window_.pad_top;
  for (size_t i = 0; i < lines_; ++i, ++at, to += line_) {
    const bool is_inside = at >= 0 && at < x.h();
    if (!is_inside || (stride > 1 && line_ > w)) Clear(to, line_);
    if (!is_inside) continue;
    const float* const line = from + static_cast<size_t>(at) * w;
    if (stride == 1) {
      Clear(to, left);
      Clear(to + left + w, line_ - left - w);
      trimtab::Copy(to + left, line, w * sizeof(*to));
      continue;
    }
    for (size_t first = 0; first < stride && first < w; ++first) {
      float* const phase = to + (left + first) % stride * phase_ + (left + first) / stride;
      const size_t count = DivideUp(w - first, stride);
      if (stride == 2) {
        TakeEven(line + first, count, phase);
      } else {
        for (size_t k = 0; k < count; ++k) phase[k] = line[first + k * stride];
      }
    }
  }
}

}  // namespace trimtab
