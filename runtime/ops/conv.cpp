// 2-D convolution: indirect GEMM, or the depthwise kernel, as the plan says.
#include "generated/attributes.h"
#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/parallel.h"
#include "runtime/ops/row_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr uint16_t kDepthwise = FamilyHash<float>(NameHash("depthwise"));
constexpr size_t kGap = 16;  // elements: a cache line

struct GemmSource {
  WindowSource<float> window;
  size_t k;  // channels per group
};

void PointAtPixels(const void* context, GemmTiles<float>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

class Conv final : public OperatorOf<ConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Status PrepareDepthwise();
  void RunDepthwise(const WindowSource<float>& source, ThreadPool& pool);
  void AddResidual(const DepthwiseArgs<float>& args, const float* residual, size_t stride) const;
  const float* Spread(float* to, ThreadPool& pool) const;
  const float* OptionalData(int i) const { return has_input(i) ? input(i).data<float>() : nullptr; }

  Window window_;
  Epilogue<float> epilogue_;
  GemmDriver<float> gemm_;
  bool spread_ = false;  // the product reads a copy of the input
  Kernel<DepthwiseArgs<float>> depthwise_ = nullptr;
  RowDriver<float> rows_;
};

Status Conv::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_CHECK(w.dims.rank == 4, "weights must have four dimensions", w.dims.rank);
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] >= 1 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, found)", x.c() / group,
                w.dims[1]);
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(w.dims[2], w.dims[3], attributes().strides, attributes().pads,
                                     attributes().dilations, &window_));
  Dims y = x.dims;
  y[1] = w.dims[0];
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, x, false, &y[2], &y[3]));
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == y[1],
                "bias does not fit the output's channels", y[1]);
  TRIMTAB_CHECK(!has_input(3) || input(3).dims == y, "residual does not have the output's shape");
  output().dims = y;
  return Status();
}

Status Conv::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  if (attributes().kernel.family == kDepthwise) return PrepareDepthwise();
  depthwise_ = nullptr;
  const int64_t k = input(1).dims[1];
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(attributes().kernel, input(1),
                                     has_input(2) ? &input(2) : nullptr, attributes().group,
                                     output().c() / attributes().group, window_.taps() * k,
                                     window_.taps(), window_.pointwise() ? 0 : k, threads()));
  const Tensor& x = input(0);
  spread_ = gemm_.RowsCollide(window_.stride_w * x.pixel_stride());
  const int64_t copied = spread_ ? x.Count() / x.c() * (x.c() + kGap) : 0;
  return RequestScratch(gemm_.scratch_bytes() + static_cast<uint64_t>(copied) * sizeof(float));
}

// A copy of the input whose pixels lie kGap elements apart.
const float* Conv::Spread(float* to, ThreadPool& pool) const {
  const Tensor& x = input(0);
  const size_t channels = static_cast<size_t>(x.c()), pixels = x.Count() / channels;
  pool.For(pixels, Grain(pixels, channels, pool.threads()), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i)
      Copy(to + i * (channels + kGap), x.data<float>() + i * x.pixel_stride(),
           channels * sizeof(float));
  });
  return to;
}

Status Conv::PrepareDepthwise() {
  const KernelRef& ref = attributes().kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("depthwise")>(ref, &depthwise_));
  const int32_t channels = input(0).c();
  TRIMTAB_CHECK(attributes().group == channels && output().c() == channels,
                "a depthwise kernel needs one channel per group");
  TRIMTAB_CHECK(ref.nr > 0, "the plan's depthwise kernel has no tile");
  const size_t padded = DivideUp(static_cast<size_t>(channels), ref.nr) * ref.nr;
  TRIMTAB_CHECK(input(1).bytes / sizeof(float) / static_cast<size_t>(window_.taps()) >= padded,
                "packed weights are too short");
  TRIMTAB_CHECK(!has_input(2) || input(2).bytes / sizeof(float) >= static_cast<size_t>(channels),
                "bias is too short");
  TRIMTAB_RETURN_IF_ERROR(
      rows_.Prepare(window_, output().w(), channels, kDepthwiseRows, threads()));
  return RequestScratch(rows_.scratch_bytes());
}

void Conv::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  GemmSource source{
      {window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<float>(), nullptr},
      static_cast<size_t>(input(1).dims[1])};
  if (depthwise_ != nullptr) {
    RunDepthwise(source.window, pool);
    return;
  }
  source.window.padding = gemm_.Zeros(scratch<void>());
  if (spread_) {
    source.window.x = Spread(scratch<float>(static_cast<size_t>(gemm_.scratch_bytes())), pool);
    source.window.pixel_stride = static_cast<size_t>(x.c()) + kGap;
  }
  const EvenRows<float> pixels{source.window.x, source.window.pixel_stride, source.k, source.k};
  GemmJob<float> job;
  job.point = PointAtPixels;
  job.context = &source;
  if (window_.pointwise()) {
    job.point = PointAtEvenRows<float>;
    job.context = &pixels;
  }
  job.w = input(1).data<float>();
  job.bias = OptionalData(2);
  job.residual = OptionalData(3);
  job.c = y.data<float>();
  job.groups = static_cast<size_t>(attributes().group);
  job.lines = 1;  // pixels of all rows and images lie evenly
  job.line_rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  job.columns = static_cast<size_t>(y.c()) / job.groups;
  job.depth = window_.taps() * source.k;
  job.row_stride = y.pixel_stride();
  job.line_stride = 0;
  if (has_input(3)) job.residual_stride = input(3).pixel_stride();
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

void Conv::RunDepthwise(const WindowSource<float>& place, ThreadPool& pool) {
  WindowSource<float> source = place;
  const size_t channels = static_cast<size_t>(input(0).c());
  source.padding = rows_.Padding(scratch<void>(), channels, 0.0f);
  const float* const residual = OptionalData(3);
  float* const y = output().data<float>();
  const size_t residual_stride = residual == nullptr ? 0 : input(3).pixel_stride();
  rows_.Run(
      source, static_cast<size_t>(input(0).n()), scratch<void>(), pool, [&](const auto& piece) {
        const size_t pixel = piece.row * source.out_w + piece.x;
        DepthwiseArgs<float> args;
        args.a = piece.a;
        args.w = input(1).data<float>();
        args.bias = has_input(2) ? input(2).data<float>() : source.padding;
        args.kernel_h = static_cast<size_t>(window_.kernel_h);
        args.kernel_w = static_cast<size_t>(window_.kernel_w);
        args.column = piece.column;
        args.step_h = static_cast<size_t>(window_.stride_h);
        args.step_w = piece.step_w;
        args.rows = piece.rows;
        args.pixels = piece.pixels;
        args.channels = channels;
        args.y_stride = output().pixel_stride();
        args.y_row_stride = source.out_w * args.y_stride;
        args.y = y + pixel * args.y_stride;
        args.clamp_min = residual == nullptr ? epilogue_.clamp_min : -__builtin_inff();
        args.clamp_max = residual == nullptr ? epilogue_.clamp_max : __builtin_inff();
        args.nr = attributes().kernel.nr;
        depthwise_(args);
        if (residual != nullptr)
          AddResidual(args, residual + pixel * residual_stride, residual_stride);
        for (size_t r = 0; r < piece.rows; ++r) {
          epilogue_.Activate(args.y + r * args.y_row_stride, piece.pixels, channels, args.y_stride);
        }
      });
}

void Conv::AddResidual(const DepthwiseArgs<float>& args, const float* residual,
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

TRIMTAB_OPERATOR(Conv)
