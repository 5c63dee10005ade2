// A depthwise convolution fused with the 1x1 convolutions before and after it (Sandler et al. 2018,
// "MobileNetV2", section 6.2), in blocks of output rows.
//
// Each thread computes blocks of its own rows from input to output: it expands the input rows of
// the block's windows into scratch memory, slides the windows over them into scratch memory, and
// projects the result. The expanded rows are in a ring buffer, which keeps the rows that the next
// block needs: every row is expanded once, except at the border between two threads' rows.
#include "generated/attributes/conv_separable.h"

#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/depthwise_driver.h"
#include "runtime/ops/gemm_driver.h"

namespace trimtab {
namespace {

enum Input { kX, kW, kBias, kExpand, kExpandBias, kProject, kProjectBias, kResidual };

// One of the 1x1 convolutions: its attributes under the names that all GEMMs have.
struct Product {
  KernelRef kernel;
  int64_t panels, call_tiles;
  float clamp_min, clamp_max;
  uint32_t activation;
  float alpha, beta;
  KernelRef activation_kernel;
};

// Rows [first, last) of an image.
struct Rows {
  int32_t first, last;
  size_t count() const { return static_cast<size_t>(last - first); }
};

template <typename T>
class ConvSeparable final : public OperatorOf<ConvSeparableAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  // A thread's memory, and the position up to which it has expanded rows.
  struct Worker {
    uint8_t* memory;
    size_t image;
    int32_t last;
  };

  Status CheckProduct(Input w, int32_t channels, Dims* result) const;
  Status BindProduct(const Product& product, Input w, GemmDriver<T>* gemm,
                     Epilogue<T>* epilogue) const;
  Rows Seen(Rows rows) const;
  void RunBlock(size_t image, Rows rows, Worker* worker) const;
  void Expand(size_t image, Rows rows, Worker* worker) const;
  void Multiply(const GemmDriver<T>& gemm, const Epilogue<T>& epilogue, Input w,
                const StridedRows<T>& rows, GemmJob<T>* job, uint8_t* memory) const;

  size_t channels() const { return static_cast<size_t>(input(kW).dims[0]); }
  size_t stride() const { return channels() + static_cast<size_t>(attributes().gap); }

  Window window_;
  Epilogue<T> expand_epilogue_, epilogue_, project_epilogue_;
  GemmDriver<T> expand_, project_;
  DepthwiseDriver<T> depthwise_;
  size_t share_ = 0, block_ = 0;                     // rows per thread, and rows per block
  int32_t ring_ = 0;                                 // rows of the ring buffer
  size_t expanded_offset_ = 0, between_offset_ = 0;  // offsets in a thread's scratch memory
  size_t thread_bytes_ = 0;
};

template <typename T>
Status ConvSeparable<T>::InferShape() {
  const Tensor &x = input(kX), &w = input(kW);
  Tensor image = x;
  if (has_input(kExpand)) {
    TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
    TRIMTAB_RETURN_IF_ERROR(CheckProduct(kExpand, x.c(), &image.dims));
  }
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({image, w, optional_input(kBias), nullptr},
                                          attributes().strides, attributes().pads,
                                          attributes().dilations, &window_, &output().dims));
  TRIMTAB_CHECK(w.dims[0] == image.c() && w.dims[1] == 1,
                "weights must have one window per input channel", image.c());
  if (has_input(kProject)) {
    TRIMTAB_RETURN_IF_ERROR(CheckProduct(kProject, image.c(), &output().dims));
  }
  TRIMTAB_CHECK(
      !has_input(kResidual) || (has_input(kProject) && input(kResidual).dims == output().dims),
      "residual does not have the output's shape");
  return Status();
}

// Checks weights and bias for `channels` input channels, and sets the channels of `result`.
template <typename T>
Status ConvSeparable<T>::CheckProduct(Input w, int32_t channels, Dims* result) const {
  const Dims& dims = input(w).dims;
  TRIMTAB_CHECK(dims.rank == 4 && dims[0] >= 1 && dims[1] == channels && dims.Count(2, 4) == 1,
                "weights must be 1x1 and fit the input's channels", channels);
  const Tensor* const bias = optional_input(w + 1);
  TRIMTAB_CHECK(bias == nullptr || bias->Count() == dims[0],
                "bias does not fit the output's channels", dims[0]);
  (*result)[1] = dims[0];
  return Status();
}

template <typename T>
Status ConvSeparable<T>::BindProduct(const Product& product, Input w, GemmDriver<T>* gemm,
                                     Epilogue<T>* epilogue) const {
  if (!has_input(w)) return Status();
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(product, epilogue));
  const Dims& dims = input(w).dims;
  return gemm->Bind(ProductPlan(product), input(w), optional_input(w + 1), 1, dims[0], dims[1], 1,
                    0, 1);
}

template <typename T>
Status ConvSeparable<T>::Prepare() {
  const ConvSeparableAttributes& a = attributes();
  const Product expand{a.expand_kernel,    a.expand_panels,    a.expand_call_tiles,
                       a.expand_clamp_min, a.expand_clamp_max, a.expand_activation,
                       a.expand_alpha,     a.expand_beta,      a.expand_activation_kernel};
  const Product project{a.project_kernel,    a.project_panels,    a.project_call_tiles,
                        a.project_clamp_min, a.project_clamp_max, a.project_activation,
                        a.project_alpha,     a.project_beta,      a.project_activation_kernel};
  TRIMTAB_RETURN_IF_ERROR(BindProduct(expand, kExpand, &expand_, &expand_epilogue_));
  TRIMTAB_RETURN_IF_ERROR(BindProduct(project, kProject, &project_, &project_epilogue_));
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(a, &epilogue_));
  const Tensor &x = input(kX), &y = output();
  // Each thread runs a GEMM of its own.
  TRIMTAB_RETURN_IF_ERROR(
      depthwise_.Bind(DepthwisePlan(a), window_, y.w(), input(kW), optional_input(kBias), 1));
  const size_t rows = static_cast<size_t>(y.n()) * y.h();
  share_ = rows == 0 ? 1 : DivideUp(rows, static_cast<size_t>(threads()));
  block_ = EvenBlocks(share_, static_cast<size_t>(a.block), static_cast<size_t>(a.rows));
  if (block_ > static_cast<size_t>(y.h())) block_ = static_cast<size_t>(y.h());
  ring_ = (static_cast<int32_t>(block_) - 1) * window_.stride_h + window_.extent_h();
  if (ring_ > x.h()) ring_ = x.h() > 0 ? x.h() : 1;
  const uint64_t pixel = uint64_t{stride()} * sizeof(T);
  const uint64_t pointers =
      depthwise_.scratch_bytes() + expand_.scratch_bytes() + project_.scratch_bytes();
  const uint64_t expanded =
      has_input(kExpand) ? Aligned(static_cast<uint64_t>(ring_) * x.w() * pixel) : 0;
  const uint64_t between = has_input(kProject) ? Aligned(block_ * y.w() * pixel) : 0;
  expanded_offset_ = static_cast<size_t>(pointers);
  between_offset_ = static_cast<size_t>(pointers + expanded);
  thread_bytes_ = static_cast<size_t>(pointers + expanded + between);
  return RequestScratch((pointers + expanded + between) * static_cast<uint64_t>(threads()));
}

template <typename T>
void ConvSeparable<T>::Run(ThreadPool& pool) {
  const size_t height = static_cast<size_t>(output().h());
  const size_t rows = static_cast<size_t>(output().n()) * height;
  pool.For(DivideUp(rows, share_), kBlockCost, [&](size_t begin, size_t end, int thread) {
    Worker worker{scratch<uint8_t>() + static_cast<size_t>(thread) * thread_bytes_, 0, 0};
    const size_t last = Min(end * share_, rows);
    for (size_t row = begin * share_; row < last;) {
      const size_t image = row / height, first = row % height;
      const size_t count = Min(Min(block_, last - row), height - first);
      RunBlock(image, {static_cast<int32_t>(first), static_cast<int32_t>(first + count)}, &worker);
      row += count;
    }
  });
}

// The input rows that the windows of output rows read; empty if all are padding.
template <typename T>
Rows ConvSeparable<T>::Seen(Rows rows) const {
  const int32_t top = rows.first * window_.stride_h - window_.pad_top;
  const int32_t bottom = (rows.last - 1) * window_.stride_h - window_.pad_top + window_.extent_h();
  const int32_t height = input(kX).h();
  const int32_t begin = top < 0 ? 0 : top;
  const int32_t end = bottom < height ? bottom : height;
  return {begin, end < begin ? begin : end};
}

template <typename T>
void ConvSeparable<T>::RunBlock(size_t image, Rows rows, Worker* worker) const {
  const Tensor &x = input(kX), &y = output();
  ThreadPool alone;
  WindowSource<T> source{
      window_,          x.h(),   x.w(),  static_cast<int32_t>(rows.count()), y.w(),
      x.pixel_stride(), nullptr, nullptr};
  // The block is an image of its own: the rows above it become padding.
  source.window.pad_top -= rows.first * window_.stride_h;
  if (has_input(kExpand)) {
    Expand(image, Seen(rows), worker);
    source.x = reinterpret_cast<T*>(worker->memory + expanded_offset_);
    source.pixel_stride = stride();
    source.lines = ring_;
  } else {
    source.x = x.data<T>() + image * x.h() * x.w() * x.pixel_stride();
  }
  const size_t first_pixel = (image * y.h() + static_cast<size_t>(rows.first)) * y.w();
  T* const written = result<T>() + first_pixel * y.pixel_stride();
  T* to = written;
  size_t to_stride = y.pixel_stride();
  if (has_input(kProject)) {
    to = reinterpret_cast<T*>(worker->memory + between_offset_);
    to_stride = stride();
  }
  depthwise_.Run(source, 1, epilogue_.clamp_min, epilogue_.clamp_max, to, to_stride, worker->memory,
                 alone, [&](const auto& args, size_t) { Activate(epilogue_, args); });
  if (!has_input(kProject)) return;
  GemmJob<T> job;
  job.c = written;
  job.row_stride = y.pixel_stride();
  job.line_rows = rows.count() * y.w();
  job.residual = optional_data<T>(kResidual);
  if (job.residual != nullptr) {
    job.residual_stride = input(kResidual).pixel_stride();
    job.residual += first_pixel * job.residual_stride;
  }
  Multiply(project_, project_epilogue_, kProject, {to, stride(), channels(), 0}, &job,
           worker->memory + depthwise_.scratch_bytes());
}

// Expands the rows of the image that are not in the worker's memory yet.
template <typename T>
void ConvSeparable<T>::Expand(size_t image, Rows rows, Worker* worker) const {
  const Tensor& x = input(kX);
  T* const ring = reinterpret_cast<T*>(worker->memory + expanded_offset_);
  if (image == worker->image && rows.first < worker->last) rows.first = worker->last;
  worker->image = image;
  worker->last = rows.last;
  while (rows.first < rows.last) {
    const int32_t place = rows.first % ring_;
    const int32_t count =
        rows.last - rows.first < ring_ - place ? rows.last - rows.first : ring_ - place;
    const size_t row = image * x.h() + static_cast<size_t>(rows.first);
    GemmJob<T> job;
    job.c = ring + static_cast<size_t>(place) * x.w() * stride();
    job.row_stride = stride();
    job.line_rows = static_cast<size_t>(count) * x.w();
    job.residual = nullptr;
    Multiply(expand_, expand_epilogue_, kExpand,
             {x.data<T>() + row * x.w() * x.pixel_stride(), x.pixel_stride(),
              static_cast<size_t>(x.c()), 0},
             &job, worker->memory + depthwise_.scratch_bytes() + project_.scratch_bytes());
    rows.first += count;
  }
}

template <typename T>
void ConvSeparable<T>::Multiply(const GemmDriver<T>& gemm, const Epilogue<T>& epilogue, Input w,
                                const StridedRows<T>& rows, GemmJob<T>* job,
                                uint8_t* memory) const {
  ThreadPool alone;
  job->point = PointAtStridedRows<T>;
  job->context = &rows;
  job->w = data<T>(w);
  job->bias = optional_data<T>(w + 1);
  job->groups = job->lines = 1;
  job->columns = static_cast<size_t>(input(w).dims[0]);
  job->depth = rows.k;
  job->line_stride = 0;
  gemm.Run(*job, epilogue, memory, alone);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(ConvSeparable, float, F32)
TRIMTAB_TYPED_OPERATOR(ConvSeparable, Half, F16)
