// Average pooling of int8 values.
#include "generated/attributes/qlinear_average_pool.h"

#include "runtime/core/operator.h"
#include "runtime/ops/mean_window.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/row_driver.h"

namespace trimtab {
namespace {

class QlinearAveragePool final : public OperatorOf<QlinearAveragePoolAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    const size_t channels = static_cast<size_t>(x.c());
    const auto zero = static_cast<int8_t>(zero_point_);  // the padding holds the input's zero point
    const WindowSource<int8_t> source{window_,
                                      x.h(),
                                      x.w(),
                                      y.h(),
                                      y.w(),
                                      x.pixel_stride(),
                                      x.data<int8_t>(),
                                      rows_.Padding(scratch<void>(), channels, zero)};
    const MeanWindow counts(window_, x, y, attributes().count_include_pad);
    int8_t* const out = y.data<int8_t>();
    rows_.Run(source, static_cast<size_t>(x.n()), scratch<void>(), pool, [&](const auto& piece) {
      float scale[RowDriver<int8_t>::kMaxPixels];
      counts.Scales(piece, factor_, scale);
      QlinearPoolArgs<int8_t> args = args_;
      args.pool = {piece.a,
                   scale,
                   out + (piece.row * source.out_w + piece.x) * y.pixel_stride(),
                   piece.column,
                   static_cast<size_t>(window_.kernel_w),
                   piece.step_w,
                   piece.pixels,
                   channels,
                   y.pixel_stride()};
      kernel_(args);
    });
  }

 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(CheckImage(input(0)));
    TRIMTAB_RETURN_IF_ERROR(ReadWindow(attributes().kernel_shape[0], attributes().kernel_shape[1],
                                       attributes().strides, attributes().pads,
                                       attributes().dilations, &window_));
    // The sum of this many int8 values fits 32 bits.
    TRIMTAB_CHECK(int64_t{window_.kernel_h} * window_.kernel_w <= 1 << 23,
                  "the window is too large (height, width)", window_.kernel_h, window_.kernel_w);
    output().dims = input(0).dims;
    return WindowOutput(window_, input(0), attributes().ceil_mode, &output().dims[2],
                        &output().dims[3]);
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &zero_point_));
    TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &args_));
    args_.bias = -zero_point_ * window_.kernel_h * window_.kernel_w;
    factor_ = input(0).quantization->scales()[0] / output().quantization->scales()[0];
    TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("qlinear_average_pool")>(attributes().kernel, &kernel_));
    TRIMTAB_RETURN_IF_ERROR(
        rows_.Prepare(window_, output().w(), input(0).c(), 1, attributes().pixels, threads()));
    return RequestScratch(rows_.scratch_bytes());
  }

 private:
  Window window_;
  Kernel<QlinearPoolArgs<int8_t>> kernel_ = nullptr;
  RowDriver<int8_t> rows_;
  QlinearPoolArgs<int8_t> args_;
  int32_t zero_point_ = 0;
  float factor_ = 1.0f;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearAveragePool)
