// Convolution of every channel by itself.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/row_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

class ConvDepthwise final : public OperatorOf<ConvDepthwiseAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void AddResidual(const DepthwiseArgs<float>& args, const float* residual, size_t stride) const;

  Window window_;
  Epilogue<float> epilogue_;
  Kernel<DepthwiseArgs<float>> kernel_ = nullptr;
  RowDriver<float> rows_;
};

Status ConvDepthwise::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  TRIMTAB_CHECK(w.dims[0] == x.c() && w.dims[1] == 1,
                "weights must be one window for every channel of the input", x.c());
  return Status();
}

Status ConvDepthwise::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  const KernelRef& ref = attributes().kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("depthwise")>(ref, &kernel_));
  const int32_t channels = input(0).c();
  TRIMTAB_CHECK(ref.nr > 0, "the plan's depthwise kernel has no tile");
  const size_t padded = DivideUp(static_cast<size_t>(channels), ref.nr) * ref.nr;
  TRIMTAB_CHECK(input(1).bytes / sizeof(float) / static_cast<size_t>(window_.taps()) >= padded,
                "packed weights are too short");
  TRIMTAB_CHECK(!has_input(2) || input(2).bytes / sizeof(float) >= static_cast<size_t>(channels),
                "bias is too short");
  TRIMTAB_RETURN_IF_ERROR(rows_.Prepare(window_, output().w(), channels, attributes().rows,
                                        attributes().pixels, threads()));
  return RequestScratch(rows_.scratch_bytes());
}

void ConvDepthwise::Run(ThreadPool& pool) {
  const Tensor &x = input(0), &y = output();
  const size_t channels = static_cast<size_t>(x.c());
  const WindowSource<float> source{window_,         x.h(),
                                   x.w(),           y.h(),
                                   y.w(),           x.pixel_stride(),
                                   x.data<float>(), rows_.Padding(scratch<void>(), channels, 0.0f)};
  const float* const bias = has_input(2) ? input(2).data<float>() : source.padding;
  const float* const residual = optional_data<float>(3);
  const size_t residual_stride = residual == nullptr ? 0 : input(3).pixel_stride();
  float* const out = output().data<float>();
  rows_.Run(source, static_cast<size_t>(x.n()), scratch<void>(), pool, [&](const auto& piece) {
    const size_t pixel = piece.row * source.out_w + piece.x;
    DepthwiseArgs<float> args;
    args.a = piece.a;
    args.w = input(1).data<float>();
    args.bias = bias;
    args.kernel_h = static_cast<size_t>(window_.kernel_h);
    args.kernel_w = static_cast<size_t>(window_.kernel_w);
    args.column = piece.column;
    args.step_h = static_cast<size_t>(window_.stride_h);
    args.step_w = piece.step_w;
    args.rows = piece.rows;
    args.pixels = piece.pixels;
    args.channels = channels;
    args.y_stride = y.pixel_stride();
    args.y_row_stride = source.out_w * args.y_stride;
    args.y = out + pixel * args.y_stride;
    args.clamp_min = residual == nullptr ? epilogue_.clamp_min : -__builtin_inff();
    args.clamp_max = residual == nullptr ? epilogue_.clamp_max : __builtin_inff();
    args.nr = attributes().kernel.nr;
    kernel_(args);
    if (residual != nullptr) AddResidual(args, residual + pixel * residual_stride, residual_stride);
    for (size_t r = 0; r < piece.rows; ++r)
      epilogue_.Activate(args.y + r * args.y_row_stride, piece.pixels, channels, args.y_stride);
  });
}

void ConvDepthwise::AddResidual(const DepthwiseArgs<float>& args, const float* residual,
                                size_t stride) const {
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; ++p) {
      float* const y = args.y + r * args.y_row_stride + p * args.y_stride;
      const float* const add = residual + (r * output().w() + p) * stride;
      for (size_t i = 0; i < args.channels; ++i) {
        const float sum = y[i] + add[i];
        const float value = sum < epilogue_.clamp_min ? epilogue_.clamp_min : sum;
        y[i] = value > epilogue_.clamp_max ? epilogue_.clamp_max : value;
      }
    }
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ConvDepthwise)
