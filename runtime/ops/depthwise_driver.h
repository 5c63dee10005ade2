// The driver of the depthwise micro-kernels: pieces of rows, packed weights, epilogue.
#ifndef TRIMTAB_OPS_DEPTHWISE_DRIVER_H_
#define TRIMTAB_OPS_DEPTHWISE_DRIVER_H_

#include "runtime/ops/epilogue.h"
#include "runtime/ops/row_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {

// The plan of a depthwise convolution: the attributes of shared/row_pieces.toml and
// shared/depthwise.toml, and the kernel.
struct DepthwisePlan {
  template <typename Attributes>
  explicit DepthwisePlan(const Attributes& attributes)
      : kernel(attributes.kernel), rows(attributes.rows), pixels(attributes.pixels) {}

  KernelRef kernel;
  int64_t rows, pixels;
};

template <typename T>
class DepthwiseDriver {
 public:
  // Binds the kernel and checks the size of packed weights and bias; the channels are the first
  // dimension of w. `threads`: size of the pools that will run it.
  Status Bind(const DepthwisePlan& plan, const Window& window, int32_t out_w, const Tensor& w,
              const Tensor* bias, int threads);
  uint64_t scratch_bytes() const { return rows_.scratch_bytes(); }

  // Computes all rows of `images` images into y, whose pixels are `y_stride` elements apart; sets
  // the padding of `source`. Calls finish(args, pixel) after results are written, from that pixel
  // on.
  template <typename F>
  void Run(WindowSource<T> source, size_t images, float clamp_min, float clamp_max, T* y,
           size_t y_stride, void* scratch, ThreadPool& pool, const F& finish) const {
    DepthwiseArgs<T> args;
    Begin(&source, scratch, &args);
    args.clamp_min = clamp_min;
    args.clamp_max = clamp_max;
    args.y_stride = y_stride;
    args.y_row_stride = source.out_w * y_stride;
    rows_.Run(source, images, scratch, pool, [&](const RowPiece<T>& piece) {
      DepthwiseArgs<T> call = args;
      const size_t pixel = piece.row * source.out_w + piece.x;
      call.a = piece.a;
      call.column = piece.column;
      call.step_w = piece.step_w;
      call.rows = piece.rows;
      call.pixels = piece.pixels;
      call.y = y + pixel * y_stride;
      kernel_(call);
      finish(call, pixel);
    });
  }

 private:
  // Sets the arguments that all calls have in common, except the output.
  void Begin(WindowSource<T>* source, void* scratch, DepthwiseArgs<T>* args) const;

  Kernel<DepthwiseArgs<T>> kernel_ = nullptr;
  RowDriver<T> rows_;
  const Tensor* w_ = nullptr;
  const Tensor* bias_ = nullptr;
  uint16_t nr_ = 0;
};

// Applies the activation to results that were just written.
template <typename T>
void Activate(const Epilogue<T>& epilogue, const DepthwiseArgs<T>& args) {
  for (size_t r = 0; r < args.rows; ++r)
    epilogue.Activate(args.y + r * args.y_row_stride, args.pixels, args.channels, args.y_stride);
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_DEPTHWISE_DRIVER_H_
