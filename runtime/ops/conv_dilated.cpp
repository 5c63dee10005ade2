// Dilated 2-D convolution: an indirect GEMM whose tiles skip the taps that only read padding.
#include "generated/attributes/conv_dilated.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/padded_pixels.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

template <typename T>
struct LiveTaps {
  WindowSource<T> window;
  size_t k;  // channels
};

// Whether a tap is padding for all `mr` rows of a tile.
template <typename T>
bool IsPadding(const T* const* tap, size_t mr, const T* padding) {
  for (size_t i = 0; i < mr; ++i) {
    if (tap[i] != padding) return false;
  }
  return true;
}

// Points at the taps of one tile, from the first to the last one inside the image; at least one.
template <typename T>
void PointAtLiveTaps(const void* context, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const LiveTaps<T>*>(context);
  const T* const padding = source.window.padding;
  const size_t mr = tiles->mr;
  tiles->rows = PointAtTiles(source.window, tiles->row, Min(tiles->rows, mr), mr, 0, source.k,
                             tiles->a, &tiles->taps, &tiles->k);
  const T** last = tiles->a + (tiles->taps - 1) * mr;
  while (last > tiles->a && IsPadding(last, mr, padding)) last -= mr;
  while (tiles->a < last && IsPadding(tiles->a, mr, padding)) tiles->a += mr;
  tiles->taps = static_cast<size_t>(last - tiles->a) / mr + 1;
}

template <typename T>
class ConvDilated final : public OperatorOf<ConvDilatedAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  struct SinglePanel {  // of weights in a block of columns, as each tile has other taps
    KernelRef kernel;
    int64_t panels = 1, call_tiles = 1;
  };

  Window window_;
  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
};

template <typename T>
Status ConvDilated<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  TRIMTAB_CHECK(w.dims[1] == x.c(), "weights do not fit the input's channels (expected, actual)",
                x.c(), w.dims[1]);
  return Status();
}

template <typename T>
Status ConvDilated<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  const Tensor& x = input(0);
  const int64_t k = x.c(), taps = window_.taps();
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(SinglePanel{attributes().kernel}), input(1),
                                     optional_input(2), 1, output().c(), taps * k, taps, k,
                                     threads()));
  return RequestScratch(gemm_.scratch_bytes() + PaddedPixelsBytes<T>(x, attributes().gap));
}

template <typename T>
void ConvDilated<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  LiveTaps<T> source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<T>(),
                      gemm_.Zeros(scratch<void>())},
                     static_cast<size_t>(x.c())};
  if (const size_t gap = static_cast<size_t>(attributes().gap)) {
    T* const copy = scratch<T>(static_cast<size_t>(gemm_.scratch_bytes()));
    source.window.x = PadPixels(x, gap, copy, pool);
    source.window.pixel_stride = source.k + gap;
  }
  GemmJob<T> job;
  job.point = PointAtLiveTaps<T>;
  job.context = &source;
  job.w = data<T>(1);
  job.bias = optional_data<T>(2);
  job.residual = optional_data<T>(3);
  job.c = y.data<T>();
  job.groups = 1;
  job.lines = 1;  // the pixels of all rows and images are evenly spaced
  job.line_rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  job.columns = static_cast<size_t>(y.c());
  job.depth = window_.taps() * source.k;
  job.row_stride = y.pixel_stride();
  job.line_stride = 0;
  if (has_input(3)) job.residual_stride = input(3).pixel_stride();
  gemm_.template Run<true>(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(ConvDilated, float, F32)
TRIMTAB_TYPED_OPERATOR(ConvDilated, Half, F16)
