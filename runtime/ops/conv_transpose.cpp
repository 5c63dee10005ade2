// Transposed convolution without scattering: the output pixels of one phase (y mod stride, x mod
// stride) are an ordinary convolution with the taps that reach them, so each phase is one indirect
// GEMM. Weights are packed phase by phase (trimtab/planner/packing/gemm.py).
#include "generated/attributes/conv_transpose.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr int32_t kMaxStride = 256;  // bounds the number of phases in a hostile file
constexpr int64_t kMaxOutputPadding = 1 << 20;

// The taps that reach output positions phase + stride * j of one axis: tap t reads input j + shift
// + t * step.
struct PhaseAxis {
  int32_t taps, shift, step;
};

PhaseAxis TapsOfPhase(int32_t phase, int32_t kernel, int32_t stride, int32_t dilation,
                      int32_t pad) {
  PhaseAxis axis{0, 0, 0};
  for (int32_t tap = 0; tap < kernel; ++tap) {
    const int32_t distance = phase + pad - tap * dilation;
    if (distance % stride != 0) continue;
    if (axis.taps == 0) axis.shift = distance / stride;
    if (axis.taps == 1) axis.step = distance / stride - axis.shift;
    ++axis.taps;
  }
  return axis;
}

template <typename T>
struct PhaseSource {
  PhaseAxis vertical, horizontal;
  const T* x;  // one image
  const T* zeros;
  int32_t h, w;
  size_t pixel_stride, k;
};

template <typename T>
void PointAtPhase(const void* context, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const PhaseSource<T>*>(context);
  tiles->rows = Min(tiles->rows, tiles->mr);
  const T** a = tiles->a;
  for (int32_t ty = 0; ty < source.vertical.taps; ++ty) {
    const int32_t y =
        static_cast<int32_t>(tiles->line) + source.vertical.shift + ty * source.vertical.step;
    const int32_t end = y >= 0 && y < source.h ? source.w : 0;
    for (int32_t tx = 0; tx < source.horizontal.taps; ++tx, a += tiles->mr) {
      int32_t x =
          static_cast<int32_t>(tiles->row) + source.horizontal.shift + tx * source.horizontal.step;
      // Unsigned: it wraps where the tap lies outside of the image.
      size_t place =
          (static_cast<size_t>(y) * source.w + x) * source.pixel_stride + tiles->group * source.k;
      for (size_t i = 0; i < tiles->mr; ++i) {
        a[i] = x >= 0 && x < end ? source.x + place : source.zeros;
        if (i + 1 >= tiles->rows) continue;  // rows past the last repeat it
        ++x;
        place += source.pixel_stride;
      }
    }
  }
  tiles->taps = static_cast<size_t>(source.vertical.taps) * source.horizontal.taps;
  tiles->k = source.k;
}

// No tap reaches this phase (stride > kernel): a GEMM with one zero leaves bias and activation.
template <typename T>
void PointAtZero(const void* context, GemmTiles<T>* tiles) {
  tiles->rows = Min(tiles->rows, tiles->mr);
  for (size_t i = 0; i < tiles->mr; ++i)
    tiles->a[i] = static_cast<const PhaseSource<T>*>(context)->zeros;
  tiles->taps = tiles->k = 1;
}

template <typename T>
class ConvTranspose final : public OperatorOf<ConvTransposeAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Window window_;
  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
};

template <typename T>
Status ConvTranspose<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_CHECK(w.dims.rank == 4, "weights must have four dimensions", w.dims.rank);
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[0] == x.c() && w.dims[1] >= 1,
                "weights do not fit the input's channels (expected, actual)", x.c(), w.dims[0]);
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(w.dims[2], w.dims[3], attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  TRIMTAB_CHECK(window_.stride_h <= kMaxStride && window_.stride_w <= kMaxStride,
                "strides are out of range");
  const IntList& extra = attributes().output_padding;
  TRIMTAB_CHECK(extra[0] >= 0 && extra[1] >= 0 && extra[0] <= kMaxOutputPadding &&
                    extra[1] <= kMaxOutputPadding,
                "output_padding is out of range", extra[0], extra[1]);
  const int64_t h = int64_t{window_.stride_h} * (x.h() - 1) + extra[0] + window_.extent_h() -
                    window_.pad_top - window_.pad_bottom;
  const int64_t width = int64_t{window_.stride_w} * (x.w() - 1) + extra[1] + window_.extent_w() -
                        window_.pad_left - window_.pad_right;
  TRIMTAB_CHECK(
      x.h() > 0 && x.w() > 0 && h > 0 && width > 0 && h <= INT32_MAX && width <= INT32_MAX,
      "output size is out of range (height, width)", h, width);
  const int64_t channels = w.dims[1] * group;
  TRIMTAB_CHECK(channels <= INT32_MAX, "too many output channels", channels);
  Dims y = x.dims;
  y[1] = static_cast<int32_t>(channels);
  y[2] = static_cast<int32_t>(h);
  y[3] = static_cast<int32_t>(width);
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == y[1],
                "bias does not fit the output's channels", y[1]);
  output().dims = y;
  return CheckImage(output());
}

template <typename T>
Status ConvTranspose<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  const int64_t group = attributes().group, k = input(0).c() / group;
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), optional_input(2), group,
                                     output().c() / group, window_.taps() * k, window_.taps(), k,
                                     threads()));
  return RequestScratch(gemm_.scratch_bytes());
}

template <typename T>
void ConvTranspose<T>::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  const size_t out_w = y.w(), out_h = y.h(), pixel_stride = y.pixel_stride();
  const int32_t stride_h = window_.stride_h, stride_w = window_.stride_w;
  PhaseSource<T> source;
  source.zeros = gemm_.Zeros(scratch<void>());
  source.h = x.h();
  source.w = x.w();
  source.pixel_stride = x.pixel_stride();
  GemmJob<T> job;
  job.context = &source;
  job.bias = optional_data<T>(2);
  job.residual = nullptr;
  job.groups = static_cast<size_t>(attributes().group);
  job.columns = static_cast<size_t>(y.c()) / job.groups;
  job.row_stride = stride_w * pixel_stride;
  job.line_stride = stride_h * out_w * pixel_stride;
  source.k = static_cast<size_t>(x.c()) / job.groups;
  const size_t padded_columns = job.groups * gemm_.panels(job.columns) * gemm_.nr();

  const T* w = data<T>(1);
  for (int32_t py = 0; py < stride_h; ++py) {
    source.vertical =
        TapsOfPhase(py, window_.kernel_h, stride_h, window_.dilation_h, window_.pad_top);
    for (int32_t px = 0; px < stride_w; ++px) {
      source.horizontal =
          TapsOfPhase(px, window_.kernel_w, stride_w, window_.dilation_w, window_.pad_left);
      const size_t depth = source.k * source.vertical.taps * source.horizontal.taps;
      job.point = depth == 0 ? PointAtZero<T> : PointAtPhase<T>;
      job.depth = depth == 0 ? 1 : depth;
      job.w = depth == 0 ? data<T>(1) : w;
      w += padded_columns * depth;
      const size_t left = static_cast<size_t>(px), top = static_cast<size_t>(py);
      if (top >= out_h || left >= out_w) continue;
      job.lines = (out_h - top + stride_h - 1) / stride_h;
      job.line_rows = (out_w - left + stride_w - 1) / stride_w;
      for (int32_t image = 0; image < x.n(); ++image) {
        source.x = x.data<T>() + static_cast<size_t>(image) * x.h() * x.w() * source.pixel_stride;
        job.c = y.data<T>() + ((image * out_h + top) * out_w + left) * pixel_stride;
        gemm_.Run(job, epilogue_, scratch<void>(), pool);
      }
    }
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(ConvTranspose, float, F32)
TRIMTAB_TYPED_OPERATOR(ConvTranspose, Half, F16)
