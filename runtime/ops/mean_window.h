// Number of pixels in the windows of an average pool.
#ifndef TRIMTAB_OPS_MEAN_WINDOW_H_
#define TRIMTAB_OPS_MEAN_WINDOW_H_

#include "runtime/core/tensor.h"
#include "runtime/ops/window.h"

namespace trimtab {

// Counts pixels of the image and, if `padding_counts`, of its padding; never what ceil_mode adds
// beyond.
class MeanWindow {
 public:
  MeanWindow(const Window& window, const Tensor& x, const Tensor& y, bool padding_counts)
      : window_(window),
        out_h_(y.h()),
        top_(padding_counts ? -window.pad_top : 0),
        bottom_(x.h() + (padding_counts ? window.pad_bottom : 0)),
        left_(padding_counts ? -window.pad_left : 0),
        right_(x.w() + (padding_counts ? window.pad_right : 0)) {}

  // scale[p] = factor / counted pixels in the window of pixel p; 0 if there are none.
  template <typename Pixels>
  void Scales(const Pixels& piece, float factor, float* scale) const {
    const int32_t y = static_cast<int32_t>(piece.row % static_cast<size_t>(out_h_));
    const int32_t rows = Taps(y * window_.stride_h - window_.pad_top, window_.kernel_h,
                              window_.dilation_h, top_, bottom_);
    for (size_t p = 0; p < piece.pixels; ++p) {
      const int32_t x = static_cast<int32_t>(piece.x + p) * window_.stride_w - window_.pad_left;
      const int32_t count = rows * Taps(x, window_.kernel_w, window_.dilation_w, left_, right_);
      scale[p] = count == 0 ? 0.0f : factor / static_cast<float>(count);
    }
  }

 private:
  // Number of the taps from `first` on that are inside [low, high).
  static int32_t Taps(int32_t first, int32_t taps, int32_t dilation, int32_t low, int32_t high) {
    int32_t count = 0;
    for (int32_t t = 0, at = first; t < taps; ++t, at += dilation)
      count += at >= low && at < high ? 1 : 0;
    return count;
  }

  const Window& window_;
  int32_t out_h_, top_, bottom_, left_, right_;
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_MEAN_WINDOW_H_
