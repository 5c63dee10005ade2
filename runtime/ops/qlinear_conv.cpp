// 2-D convolution of int8 values as indirect GEMM, or as im2col and GEMM.
#include "generated/attributes/qlinear_conv.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/im2col.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

void PointAtPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const Im2colSource*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

// Kernels multiply several elements of the depth at once. Where the channels are no multiple of that,
// weights are padded with zeros, and a pointwise row is read past its end, into the next pixel. Rows
// that would be read past the end of the images are copied into the buffer first.
void PointAtPaddedPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const Im2colSource*>(context);
  const size_t stride = source.fold * source.window.pixel_stride;
  const StridedRows<int8_t> pixels{source.window.x + source.first * source.window.pixel_stride,
                                   stride, source.depth, source.k};
  PointAtStridedRows<int8_t>(&pixels, tiles);
  const int8_t* const* const last = tiles->a + tiles->rows - 1;
  const auto runs_over = [&](const int8_t* row) {
    return static_cast<size_t>(source.end - row) < source.depth;
  };
  if (!runs_over(*last)) return;
  auto* copy = static_cast<int8_t*>(tiles->buffer);
  const int8_t** const end = tiles->a + DivideUp(tiles->rows, tiles->mr) * tiles->mr;
  for (const int8_t** a = tiles->a; a < end; ++a) {
    if (!runs_over(*a)) continue;
    __builtin_memcpy(copy, *a, Min(source.k, static_cast<size_t>(source.end - *a)));
    *a = copy;
    copy += source.depth;
  }
}

class QlinearConv final : public OperatorOf<QlinearConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  bool returns_float() const { return attributes().to == QlinearConvTo::kF32; }
  Status CheckPairedSteps(size_t panels, size_t taps, size_t k) const;

  Window window_;
  Epilogue<int8_t> epilogue_;
  GemmDriver<int8_t> gemm_;
  bool uses_im2col_ = false;
  int64_t k_ = 0;              // as in Im2colSource
  int64_t depth_ = 0;          // of a row, with its padding
  int64_t packed_depth_ = 0;   // of the packed weights
  int64_t offsets_bytes_ = 0;  // as in Im2colSource
  int32_t padding_ = 0;        // what it holds
};

Status QlinearConv::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, &input(2), nullptr}, attributes().strides,
                                          attributes().pads, attributes().dilations, &window_,
                                          &output().dims));
  TRIMTAB_RETURN_IF_ERROR(CheckQuantizedOperands(x, w, input(2), input(3)));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, actual)", x.c() / group,
                w.dims[1]);
  if (returns_float()) output().dtype = DType::kF32;
  return Status();
}

Status QlinearConv::Prepare() {
  const int64_t fold = attributes().fold, group = attributes().group;
  const int64_t columns = fold * output().c() / group;
  const int64_t kr = attributes().depth_step, mr = attributes().kernel.mr;
  TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &padding_));
  if (!returns_float()) TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &epilogue_));
  epilogue_.kr = static_cast<uint16_t>(kr);
  const bool is_pointwise = window_.pointwise();
  k_ = input(1).dims[1] * (is_pointwise ? fold : 1);
  uses_im2col_ = k_ % kr != 0;
  depth_ = RoundUp(window_.taps() * k_, kr) * (is_pointwise ? 1 : fold);
  if (fold > 1) {
    TRIMTAB_CHECK(group == 1 && (is_pointwise || uses_im2col_),
                  "pixels of this window cannot be packed");
    const bool is_strided =
        is_pointwise && input(0).pixel_stride() != static_cast<size_t>(input(0).c());
    TRIMTAB_CHECK(!is_strided && output().pixel_stride() == static_cast<size_t>(output().c()),
                  "packed pixels must be contiguous");
  }
  int64_t taps = window_.taps(), buffer_bytes = 0;
  if (uses_im2col_ || fold > 1) {
    offsets_bytes_ =
        static_cast<int64_t>(RoundUp(static_cast<size_t>(taps) * sizeof(size_t), kIm2colWord));
    buffer_bytes =
        offsets_bytes_ + mr * attributes().call_tiles * depth_ + static_cast<int64_t>(kIm2colWord);
    taps = 1;
  }
  ProductPlan plan(attributes());
  packed_depth_ = depth_;
  if (attributes().steps > 0) {
    constexpr auto kHeader = static_cast<int64_t>(sizeof(PairedStep));
    const int64_t nr = attributes().kernel.nr;
    TRIMTAB_CHECK(nr > 0 && kHeader % nr == 0, "no panels of paired weights have this width", nr);
    plan.family = NameHash("paired_gemm");
    packed_depth_ = attributes().steps * (kPairedDepth + kHeader / nr);
    epilogue_.steps = static_cast<size_t>(attributes().steps);
  }
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(plan, input(1), &input(2), group, columns, packed_depth_, taps,
                                     is_pointwise ? 0 : k_, threads(), buffer_bytes));
  TRIMTAB_RETURN_IF_ERROR(
      CheckPairedSteps(static_cast<size_t>(group) * gemm_.panels(static_cast<size_t>(columns)),
                       static_cast<size_t>(taps), static_cast<size_t>(uses_im2col_ ? depth_ : k_)));
  const int64_t padded =
      group * static_cast<int64_t>(gemm_.panels(static_cast<size_t>(columns)) * gemm_.nr());
  TRIMTAB_RETURN_IF_ERROR(
      BindFactors(input(3), optional_input(4), static_cast<uint64_t>(padded), &epilogue_));
  return RequestScratch(gemm_.scratch_bytes());
}

// Checks that the steps of paired weights stay inside rows of `taps` taps of k elements.
Status QlinearConv::CheckPairedSteps(size_t panels, size_t taps, size_t k) const {
  const auto* w = input(1).data<int8_t>();
  for (; epilogue_.steps > 0 && panels > 0; --panels) {
    uint32_t place = 0;
    for (size_t i = 0; i < epilogue_.steps; ++i) {
      PairedStep step;
      __builtin_memcpy(&step, w, sizeof(step));
      w += sizeof(step) + kPairedDepth * gemm_.nr();
      bool is_inside = step.base >= place && step.base / k < taps &&
                       step.base % k + kPairedDepth <= k && step.count <= epilogue_.steps;
      for (uint8_t index : step.index) is_inside = is_inside && index < kPairedDepth;
      TRIMTAB_CHECK(is_inside, "a step of paired weights lies outside of the rows (offset)",
                    step.base);
      place = step.base;
    }
  }
  return Status();
}

void QlinearConv::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  const auto fold = static_cast<size_t>(attributes().fold);
  const size_t all = static_cast<size_t>(y.n()) * y.h() * y.w(), remainder = all % fold;
  Im2colSource source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<int8_t>(),
                       gemm_.Zeros(scratch<void>(), padding_)},
                      static_cast<size_t>(k_),
                      static_cast<size_t>(depth_),
                      fold,
                      static_cast<size_t>(offsets_bytes_),
                      0,
                      all,
                      x.data<int8_t>() + (x.Count() / x.c() - 1) * x.pixel_stride() + x.c()};
  const StridedRows<int8_t> pixels{source.window.x, fold * source.window.pixel_stride, source.k,
                                   source.k};
  const bool pads_depth = window_.pointwise() && attributes().group == 1;
  GemmJob<int8_t> job;
  job.point = pads_depth ? PointAtPaddedPixels : uses_im2col_ ? PointAtIm2colRows : PointAtPixels;
  job.context = &source;
  if (window_.pointwise() && !uses_im2col_) {
    job.point = PointAtStridedRows<int8_t>;
    job.context = &pixels;
  }
  job.w = input(1).data<int8_t>();
  job.bias = input(2).data<int32_t>();
  job.residual = nullptr;
  job.c = returns_float() ? nullptr : y.data<int8_t>();
  job.dequantized = returns_float() ? y.data<float>() : nullptr;
  job.groups = static_cast<size_t>(attributes().group);
  job.lines = 1;  // the pixels of all rows and images are evenly spaced
  job.line_rows = all / fold;
  job.columns = fold * static_cast<size_t>(y.c()) / job.groups;
  job.depth = static_cast<size_t>(packed_depth_);
  job.row_stride = fold * y.pixel_stride();
  job.line_stride = 0;
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
  if (remainder == 0) return;
  // The remaining pixels are fewer than one row packs: they use its first columns.
  source.first = all - remainder;
  source.count = remainder;
  job.point = pads_depth ? PointAtPaddedPixels : PointAtIm2colRows;
  job.context = &source;
  job.line_rows = 1;
  job.columns = remainder * static_cast<size_t>(y.c());
  const size_t done = source.first * y.pixel_stride();
  if (returns_float()) {
    job.dequantized += done;
  } else {
    job.c += done;
  }
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearConv)
