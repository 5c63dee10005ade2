// Pooling of an image by a sliding window: the base class of the max_pool and average_pool operators.
#ifndef TRIMTAB_OPS_POOL_H_
#define TRIMTAB_OPS_POOL_H_

#include "runtime/core/operator.h"
#include "runtime/ops/row_driver.h"

namespace trimtab {

// Internal linkage: operators share the source, not the code, so that the compiler inlines and
// outlines within each of them.
namespace {

// Reads the window, infers the output shape, binds the kernel of family kFamily, and drives it over
// the output rows. A derived class implements Run with RunRows.
template <typename Attributes, uint32_t kFamily, typename T>
class Pool : public OperatorOf<Attributes> {
 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(CheckImage(this->input(0)));
    TRIMTAB_RETURN_IF_ERROR(ReadWindow(this->attributes().kernel_shape[0],
                                       this->attributes().kernel_shape[1],
                                       this->attributes().strides, this->attributes().pads,
                                       this->attributes().dilations, &window_));
    this->output().dims = this->input(0).dims;
    return WindowOutput(window_, this->input(0), this->attributes().ceil_mode,
                        &this->output().dims[2], &this->output().dims[3]);
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(Bind<kFamily>(this->attributes().kernel, &kernel_));
    TRIMTAB_RETURN_IF_ERROR(rows_.Prepare(window_, this->output().w(), this->input(0).c(), 1,
                                          this->attributes().pixels, this->threads()));
    return this->RequestScratch(rows_.scratch_bytes());
  }

  // Calls body(piece, &args) for neighboring output pixels, in parallel, with everything in `args`
  // set but `scale`. Taps in the padding read `padding`.
  template <typename Body>
  void RunRows(T padding, ThreadPool& pool, const Body& body) {
    const Tensor& x = this->input(0);
    Tensor& y = this->output();
    const size_t channels = static_cast<size_t>(x.c());
    const WindowSource<T> source{
        window_,     x.h(),
        x.w(),       y.h(),
        y.w(),       x.pixel_stride(),
        x.data<T>(), rows_.Padding(this->template scratch<void>(), channels, padding)};
    T* const out = y.data<T>();
    rows_.Run(source, static_cast<size_t>(x.n()), this->template scratch<void>(), pool,
              [&](const auto& piece) {
                T* const to = out + (piece.row * source.out_w + piece.x) * y.pixel_stride();
                PoolArgs<T> args{piece.a,
                                 nullptr,
                                 to,
                                 piece.column,
                                 static_cast<size_t>(window_.kernel_w),
                                 piece.step_w,
                                 piece.pixels,
                                 channels,
                                 y.pixel_stride()};
                body(piece, &args);
              });
  }

  Window window_;
  Kernel<PoolArgs<T>> kernel_ = nullptr;

 private:
  RowDriver<T> rows_;
};

}  // namespace
}  // namespace trimtab

#endif  // TRIMTAB_OPS_POOL_H_
