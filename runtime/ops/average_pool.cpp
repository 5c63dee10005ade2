#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/mean_window.h"
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
  const MeanWindow counts(window_, x, y, attributes().count_include_pad);
  T* const out = y.data<T>();
  rows_.Run(source, static_cast<size_t>(x.n()), scratch<void>(), pool, [&](const auto& piece) {
    float scale[RowDriver<T>::kMaxPixels];
    counts.Scales(piece, 1.0f, scale);
    T* const place = out + (piece.row * source.out_w + piece.x) * y.pixel_stride();
    kernel_({piece.a, scale, place, piece.column, static_cast<size_t>(window_.kernel_w),
             piece.step_w, piece.pixels, channels, y.pixel_stride()});
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(AveragePool, float, F32)
TRIMTAB_TYPED_OPERATOR(AveragePool, Half, F16)
