// Depthwise convolution of int8 values.
#include "generated/attributes/qlinear_conv_depthwise.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/row_driver.h"

namespace trimtab {
namespace {

class QlinearConvDepthwise final : public OperatorOf<QlinearConvDepthwiseAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Window window_;
  Epilogue<int8_t> epilogue_;
  RowDriver<int8_t> rows_;
  Kernel<DepthwiseArgs<int8_t>> kernel_ = nullptr;
  int32_t padding_ = 0;  // value of the padding
};

Status QlinearConvDepthwise::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, &input(2), nullptr}, attributes().strides,
                                          attributes().pads, attributes().dilations, &window_,
                                          &output().dims));
  TRIMTAB_RETURN_IF_ERROR(CheckQuantizedOperands(x, w, input(2), input(3)));
  TRIMTAB_CHECK(w.dims[0] == x.c() && w.dims[1] == 1,
                "weights must have one window per input channel", x.c());
  return Status();
}

Status QlinearConvDepthwise::Prepare() {
  const KernelRef& ref = attributes().kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("depthwise")>(ref, &kernel_));
  TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &padding_));
  TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &epilogue_));
  TRIMTAB_CHECK(ref.nr > 0, "the plan's depthwise kernel has no tile");
  const size_t channels = static_cast<size_t>(output().c());
  TRIMTAB_RETURN_IF_ERROR(BindFactors(input(3), optional_input(4), channels, &epilogue_));
  const size_t padded = DivideUp(channels, size_t{ref.nr}) * ref.nr;
  TRIMTAB_CHECK(input(1).bytes / static_cast<size_t>(window_.taps()) >= padded,
                "packed weights are too short");
  TRIMTAB_RETURN_IF_ERROR(rows_.Prepare(window_, output().w(), output().c(), attributes().rows,
                                        attributes().pixels, threads()));
  return RequestScratch(rows_.scratch_bytes());
}

void QlinearConvDepthwise::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  DepthwiseArgs<int8_t> args;
  args.channels = static_cast<size_t>(y.c());
  const auto padding = static_cast<int8_t>(padding_);
  const WindowSource<int8_t> source{window_,
                                    x.h(),
                                    x.w(),
                                    y.h(),
                                    y.w(),
                                    x.pixel_stride(),
                                    x.data<int8_t>(),
                                    rows_.Padding(scratch<void>(), args.channels, padding)};
  args.w = input(1).data<int8_t>();
  args.bias = input(2).data<int32_t>();
  args.scale = epilogue_.scale;
  args.slope = epilogue_.slope;
  args.zero_point = epilogue_.zero_point;
  args.low = epilogue_.low;
  args.high = epilogue_.high;
  args.kernel_h = static_cast<size_t>(window_.kernel_h);
  args.kernel_w = static_cast<size_t>(window_.kernel_w);
  args.step_h = static_cast<size_t>(window_.stride_h);
  args.nr = attributes().kernel.nr;
  args.y_stride = y.pixel_stride();
  args.y_row_stride = source.out_w * args.y_stride;
  int8_t* const result = y.data<int8_t>();
  rows_.Run(source, static_cast<size_t>(x.n()), scratch<void>(), pool,
            [&](const RowPiece<int8_t>& piece) {
              DepthwiseArgs<int8_t> call = args;
              call.a = piece.a;
              call.column = piece.column;
              call.step_w = piece.step_w;
              call.rows = piece.rows;
              call.pixels = piece.pixels;
              call.y = result + (piece.row * source.out_w + piece.x) * args.y_stride;
              kernel_(call);
            });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearConvDepthwise)
