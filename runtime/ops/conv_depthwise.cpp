// Depthwise convolution.
#include "generated/attributes/conv_depthwise.h"

#include "runtime/core/operator.h"
#include "runtime/ops/depthwise_driver.h"

namespace trimtab {
namespace {

template <typename T>
class ConvDepthwise final : public OperatorOf<ConvDepthwiseAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  void AddResidual(const DepthwiseArgs<T>& args, const T* residual, size_t stride) const;

  Window window_;
  Epilogue<T> epilogue_;
  DepthwiseDriver<T> depthwise_;
};

template <typename T>
Status ConvDepthwise<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  TRIMTAB_CHECK(w.dims[0] == x.c() && w.dims[1] == 1,
                "weights must have one window per input channel", x.c());
  return Status();
}

template <typename T>
Status ConvDepthwise<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(depthwise_.Bind(DepthwisePlan(attributes()), window_, output().w(),
                                          input(1), optional_input(2), threads()));
  return RequestScratch(depthwise_.scratch_bytes());
}

template <typename T>
void ConvDepthwise<T>::Run(ThreadPool& pool) {
  const Tensor &x = input(0), &y = output();
  const WindowSource<T> source{window_,          x.h(),       x.w(),  y.h(), y.w(),
                               x.pixel_stride(), x.data<T>(), nullptr};
  const T* const residual = optional_data<T>(3);
  const size_t residual_stride = residual == nullptr ? 0 : input(3).pixel_stride();
  const float infinity = __builtin_inff();
  depthwise_.Run(source, static_cast<size_t>(x.n()),
                 residual == nullptr ? epilogue_.clamp_min : -infinity,
                 residual == nullptr ? epilogue_.clamp_max : infinity, result<T>(),
                 y.pixel_stride(), scratch<void>(), pool, [&](const auto& args, size_t pixel) {
                   if (residual != nullptr)
                     AddResidual(args, residual + pixel * residual_stride, residual_stride);
                   Activate(epilogue_, args);
                 });
}

template <typename T>
void ConvDepthwise<T>::AddResidual(const DepthwiseArgs<T>& args, const T* residual,
                                   size_t stride) const {
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t p = 0; p < args.pixels; ++p) {
      T* const y = args.y + r * args.y_row_stride + p * args.y_stride;
      const T* const add = residual + (r * output().w() + p) * stride;
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

TRIMTAB_TYPED_OPERATOR(ConvDepthwise, float, F32)
TRIMTAB_TYPED_OPERATOR(ConvDepthwise, Half, F16)
