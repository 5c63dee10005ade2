#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/row_driver.h"

namespace trimtab {
namespace {

template <typename T>
class AveragePool final : public OperatorOf<AveragePoolAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Window window_;
  Kernel<PoolArgs<T>> kernel_ = nullptr;
  RowDriver<T> rows_;
};

// How many of the taps from `first` on count as pixels: those inside [low, high).
int32_t CountTaps(int32_t first, int32_t taps, int32_t dilation, int32_t low, int32_t high) {
  int32_t count = 0;
  for (int32_t t = 0, at = first; t < taps; ++t, at += dilation)
    count += at >= low && at < high ? 1 : 0;
  return count;
}

template <typename T>
Status AveragePool<T>::InferShape() {
  TRIMTAB_RETURN_IF_ERROR(CheckImage(input(0)));
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                     attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  output().dims = input(0).dims;
  return WindowOutput(window_, input(0), attributes().ceil_mode, &output().dims[2],
                      &output().dims[3]);
}

template <typename T>
Status AveragePool<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("average_pool")>(attributes().kernel, &kernel_));
  TRIMTAB_RETURN_IF_ERROR(
      rows_.Prepare(window_, output().w(), input(0).c(), 1, attributes().pixels, threads()));
  return RequestScratch(rows_.scratch_bytes());
}

template <typename T>
void AveragePool<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  const size_t channels = static_cast<size_t>(x.c());
  const WindowSource<T> source{window_,     x.h(),
                               x.w(),       y.h(),
                               y.w(),       x.pixel_stride(),
                               x.data<T>(), rows_.Padding(scratch<void>(), channels, 0.0f)};
  // Which positions count: the image, with its padding when asked for. What ceil_mode adds beyond
  // that never counts.
  const bool padded = attributes().count_include_pad;
  const int32_t top = padded ? -window_.pad_top : 0,
                bottom = x.h() + (padded ? window_.pad_bottom : 0);
  const int32_t left = padded ? -window_.pad_left : 0,
                right = x.w() + (padded ? window_.pad_right : 0);
  T* const out = y.data<T>();
  rows_.Run(source, static_cast<size_t>(x.n()), scratch<void>(), pool, [&](const auto& piece) {
    float scale[RowDriver<T>::kMaxPixels];
    const int32_t first_y =
        static_cast<int32_t>(piece.row % y.h()) * window_.stride_h - window_.pad_top;
    const int32_t rows = CountTaps(first_y, window_.kernel_h, window_.dilation_h, top, bottom);
    for (size_t p = 0; p < piece.pixels; ++p) {
      const int32_t first_x =
          static_cast<int32_t>(piece.x + p) * window_.stride_w - window_.pad_left;
      const int32_t count =
          rows * CountTaps(first_x, window_.kernel_w, window_.dilation_w, left, right);
      scale[p] = count == 0 ? 0.0f : 1.0f / static_cast<float>(count);
    }
    T* const place = out + (piece.row * source.out_w + piece.x) * y.pixel_stride();
    kernel_({piece.a, scale, place, piece.column, static_cast<size_t>(window_.kernel_w),
             piece.step_w, piece.pixels, channels, y.pixel_stride()});
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(AveragePool, float, F32)
TRIMTAB_TYPED_OPERATOR(AveragePool, Half, F16)
