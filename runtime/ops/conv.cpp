// 2-D convolution as indirect GEMM.
#include "generated/attributes/conv.h"

#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/padded_pixels.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

template <typename T>
struct GemmSource {
  WindowSource<T> window;
  size_t k;  // channels of a group of the GEMM
};

template <typename T>
void PointAtPixels(const void* context, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const GemmSource<T>*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

template <typename T>
class Conv final : public OperatorOf<ConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  // Groups of the GEMM, and input channels of each.
  int64_t groups() const { return attributes().group / attributes().merged; }
  int64_t channels() const { return input(1).dims[1] * attributes().merged; }
  size_t pixel_padding() const { return static_cast<size_t>(attributes().gap); }

  Window window_;
  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
};

template <typename T>
Status Conv<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, actual)", x.c() / group,
                w.dims[1]);
  return Status();
}

template <typename T>
Status Conv<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_CHECK(attributes().group % attributes().merged == 0,
                "the groups are no multiple of the merged ones", attributes().group);
  const int64_t k = channels();
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), optional_input(2),
                                     groups(), output().c() / groups(), window_.taps() * k,
                                     window_.taps(), window_.pointwise() ? 0 : k, threads()));
  return RequestScratch(gemm_.scratch_bytes() + PaddedPixelsBytes<T>(input(0), attributes().gap));
}

template <typename T>
void Conv<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  GemmSource<T> source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<T>(),
                        gemm_.Zeros(scratch<void>())},
                       static_cast<size_t>(channels())};
  if (pixel_padding() != 0) {
    T* const copy = scratch<T>(static_cast<size_t>(gemm_.scratch_bytes()));
    source.window.x = PadPixels(x, pixel_padding(), copy, pool);
    source.window.pixel_stride = static_cast<size_t>(x.c()) + pixel_padding();
  }
  const StridedRows<T> pixels{source.window.x, source.window.pixel_stride, source.k, source.k};
  GemmJob<T> job;
  job.point = PointAtPixels<T>;
  job.context = &source;
  if (window_.pointwise()) {
    job.point = PointAtStridedRows<T>;
    job.context = &pixels;
  }
  job.w = data<T>(1);
  job.bias = optional_data<T>(2);
  job.residual = optional_data<T>(3);
  job.c = y.data<T>();
  job.groups = static_cast<size_t>(groups());
  job.lines = 1;  // the pixels of all rows and images are evenly spaced
  job.line_rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  job.columns = static_cast<size_t>(y.c()) / job.groups;
  job.depth = window_.taps() * source.k;
  job.row_stride = y.pixel_stride();
  job.line_stride = 0;
  if (has_input(3)) job.residual_stride = input(3).pixel_stride();
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Conv, float, F32)
TRIMTAB_TYPED_OPERATOR(Conv, Half, F16)
