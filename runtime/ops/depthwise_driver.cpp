#include "runtime/ops/depthwise_driver.h"

#include "runtime/core/parallel.h"

namespace trimtab {

template <typename T>
Status DepthwiseDriver<T>::Bind(const DepthwisePlan& plan, const Window& window, int32_t out_w,
                                const Tensor& w, const Tensor* bias, int threads) {
  TRIMTAB_RETURN_IF_ERROR(trimtab::Bind<NameHash("depthwise")>(plan.kernel, &kernel_));
  TRIMTAB_CHECK(plan.kernel.nr > 0, "the plan's depthwise kernel has no tile");
  nr_ = plan.kernel.nr;
  w_ = &w;
  bias_ = bias;
  const size_t channels = static_cast<size_t>(w.dims[0]);
  const size_t padded = DivideUp(channels, size_t{nr_}) * nr_;
  TRIMTAB_CHECK(w.bytes / sizeof(T) / static_cast<size_t>(window.taps()) >= padded,
                "packed weights are too short");
  TRIMTAB_CHECK(bias == nullptr || bias->bytes / sizeof(T) >= channels, "bias is too short");
  return rows_.Prepare(window, out_w, w.dims[0], plan.rows, plan.pixels, threads);
}

template <typename T>
void DepthwiseDriver<T>::Begin(WindowSource<T>* source, void* scratch,
                               DepthwiseArgs<T>* args) const {
  const Window& window = source->window;
  args->channels = static_cast<size_t>(w_->dims[0]);
  source->padding = rows_.Padding(scratch, args->channels, 0.0f);
  args->w = w_->data<T>();
  args->bias = bias_ == nullptr ? source->padding : bias_->data<T>();
  args->kernel_h = static_cast<size_t>(window.kernel_h);
  args->kernel_w = static_cast<size_t>(window.kernel_w);
  args->step_h = static_cast<size_t>(window.stride_h);
  args->nr = nr_;
}

template class DepthwiseDriver<float>;
template class DepthwiseDriver<Half>;

}  // namespace trimtab
