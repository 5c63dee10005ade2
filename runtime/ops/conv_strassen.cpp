// 1x1 convolution as one level of Strassen's algorithm in Winograd's form (Higham 2002, section
// 23.1): seven multiplications of matrices of half the size instead of eight.
//
// Pixels are the rows of A and C, channels their columns. With quadrants A11 .. C22 and
//
//   S1 = A21 + A22   S2 = S1 - A11   S3 = A11 - A21   S4 = A12 - S2
//   T1 = B12 - B11   T2 = B22 - T1   T3 = B22 - B12   T4 = T2 - B21
//
// the results are
//
//   U2  = A11 B11 + S2 T2   U3 = U2 + S3 T3   U4 = U2 + S1 T1
//   C11 = A11 B11 + A12 B21   C12 = U4 + S4 B22   C21 = U3 - A22 T4   C22 = U3 + U4 - U2
//
// The T are computed ahead of time. The residual input of the GEMM kernel accumulates the products,
// and intermediate results are stored in quadrants of C that are not complete yet.
//
// Half of C's columns is a whole number of weight panels; the remaining columns are an ordinary
// GEMM. Each thread computes blocks of its own rows from the sums to the results, because a core
// reads slowly what another core has written.
#include "generated/attributes/conv_strassen.h"

#include "runtime/core/copy.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

// The right-hand sides in the order in which they are packed and used, followed by those of the
// remaining columns.
enum RightOperand { kB11, kT2, kT3, kT1, kMinusT4, kB22, kB21, kRightOperands };

// The parts of a scratch row: sums in the order in which the kernel writes them, then copies of the
// quadrants that need one.
enum Part { kS1, kS2, kS3, kS4, kSums, kA11 = kSums, kA12, kA21, kA22, kParts };

class ConvStrassen final : public OperatorOf<ConvStrassenAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  // Rows of a left-hand side, `stride` elements apart.
  struct Rows {
    const float* x;
    size_t stride;
  };

  void RunBlock(size_t first, size_t rows, uint8_t* memory) const;
  void Multiply(GemmJob<float>* job, Rows left, const float* right, const float* bias,
                const float* addend, float* c, size_t count, bool finish, uint8_t* memory) const;
  void AddInputs(const float* upper_rows, size_t upper, size_t lower, const float* zeros,
                 float* parts) const;
  void AddResults(float* upper_rows, const float* residual, size_t upper, size_t lower) const;

  size_t depth() const { return static_cast<size_t>(input(0).c()) / 2; }
  size_t parts_stride() const {
    return (attributes().copies ? kParts : kSums) * depth() + static_cast<size_t>(attributes().gap);
  }

  Epilogue<float> epilogue_;
  GemmDriver<float> gemm_;
  Kernel<StrassenSumsArgs<float>> sums_kernel_ = nullptr;
  Kernel<StrassenResultsArgs<float>> results_kernel_ = nullptr;
  size_t columns_ = 0;            // of half of C
  size_t share_ = 0, block_ = 0;  // rows per thread, and rows per block
  size_t parts_offset_ = 0;       // offset of the parts in a thread's scratch memory
  size_t thread_bytes_ = 0;
};

Status ConvStrassen::InferShape() {
  static constexpr int64_t kOnes[] = {1, 1}, kZeros[] = {0, 0, 0, 0};
  const Tensor &x = input(0), &w = input(1);
  Window window;
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, optional_input(2), optional_input(3)}, {kOnes, 2},
                                          {kZeros, 4}, {kOnes, 2}, &window, &output().dims));
  TRIMTAB_CHECK(w.dims[1] == x.c() && window.taps() == 1,
                "weights must be 1x1 and fit the input's channels", x.c());
  TRIMTAB_CHECK(x.c() % 2 == 0, "input channels cannot be halved", x.c());
  TRIMTAB_CHECK(w.dims[0] >= 2, "output channels cannot be halved", w.dims[0]);
  return Status();
}

Status ConvStrassen::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("strassen_sums")>(attributes().sums_kernel, &sums_kernel_));
  TRIMTAB_RETURN_IF_ERROR(
      Bind<NameHash("strassen_results")>(attributes().results_kernel, &results_kernel_));
  const Tensor &x = input(0), &y = output();
  const int64_t c_in = x.c(), c_out = y.c(), nr = attributes().kernel.nr;
  TRIMTAB_CHECK(nr > 0 && c_out >= 2 * nr, "half of the outputs is less than a panel", c_out, nr);
  const int64_t columns = c_out / (2 * nr) * nr, left = RoundUp(c_out - 2 * columns, nr);
  // Each thread runs a GEMM of its own.
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), nullptr, kRightOperands,
                                     columns, c_in / 2, 1, c_in, 1));
  const int64_t weights = kRightOperands * columns * (c_in / 2) + left * c_in;
  TRIMTAB_CHECK(static_cast<int64_t>(input(1).bytes / sizeof(float)) >= weights,
                "packed weights are too short", weights);
  TRIMTAB_CHECK(
      !has_input(2) || static_cast<int64_t>(input(2).bytes / sizeof(float)) >= 2 * columns + left,
      "packed bias is too short", 2 * columns + left);
  columns_ = static_cast<size_t>(columns);

  // Only the last share may have an odd row, which takes extra work.
  const size_t rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  share_ = RoundUp(DivideUp(rows, static_cast<size_t>(threads())), size_t{2});
  const size_t unit = 2 * gemm_.mr();  // whole tiles in both halves
  block_ = EvenBlocks(share_, static_cast<size_t>(attributes().block), unit);
  const uint64_t offset = gemm_.scratch_bytes();
  const uint64_t parts = uint64_t{parts_stride()} * sizeof(float) * ((block_ + 1) / 2);
  const uint64_t bytes = Aligned(offset + parts);
  parts_offset_ = static_cast<size_t>(offset);
  thread_bytes_ = static_cast<size_t>(bytes);
  return RequestScratch(bytes * static_cast<uint64_t>(threads()));
}

void ConvStrassen::Run(ThreadPool& pool) {
  const Tensor& y = output();
  const size_t rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  const size_t shares = static_cast<size_t>(threads()), share_blocks = DivideUp(share_, block_);
  pool.For(shares * share_blocks, kBlockCost, [&](size_t begin, size_t end, int thread) {
    uint8_t* const memory = scratch<uint8_t>() + static_cast<size_t>(thread) * thread_bytes_;
    for (size_t i = begin; i < end; ++i) {
      const size_t share = i / share_blocks * share_, first = share + i % share_blocks * block_;
      const size_t share_end = share + share_ < rows ? share + share_ : rows;
      if (first >= share_end) continue;
      RunBlock(first, share_end - first < block_ ? share_end - first : block_, memory);
    }
  });
}

// If the number of rows is odd, the upper half has one more row, whose counterpart is zero.
void ConvStrassen::AddInputs(const float* upper_rows, size_t upper, size_t lower,
                             const float* zeros, float* parts) const {
  const size_t k = depth(), stride = input(0).pixel_stride();
  for (size_t i = 0; i < upper; ++i) {
    const float* const a1 = upper_rows + i * stride;
    const float* const a2 = i < lower ? a1 + upper * stride : zeros;
    float* const part = parts + i * parts_stride();
    sums_kernel_({a1, a1 + k, a2, a2 + k, part, k});
    if (!attributes().copies) continue;
    Copy(part + kA11 * k, a1, 2 * k * sizeof(float));
    Copy(part + kA21 * k, a2, 2 * k * sizeof(float));
  }
}

// Computes C22 from U4, U3 and U2, and adds the residual.
void ConvStrassen::AddResults(float* upper_rows, const float* residual, size_t upper,
                              size_t lower) const {
  const size_t n = columns_, stride = output().pixel_stride();
  const size_t residual_stride = residual == nullptr ? 0 : input(3).pixel_stride();
  for (size_t i = 0; i < upper; ++i) {
    StrassenResultsArgs<float> args;
    args.top = upper_rows + i * stride;
    args.bottom = i < lower ? upper_rows + (upper + i) * stride : nullptr;
    args.residual_top = residual == nullptr ? nullptr : residual + i * residual_stride;
    args.residual_bottom = residual == nullptr ? nullptr : residual + (upper + i) * residual_stride;
    args.n = n;
    args.clamp_min = epilogue_.clamp_min;
    args.clamp_max = epilogue_.clamp_max;
    results_kernel_(args);
    if (i < lower) epilogue_.Activate(args.bottom + n, 1, n, n);
  }
}

// c = left * right + bias + addend, for `count` rows. Not inlined: it is called nine times.
__attribute__((noinline)) void ConvStrassen::Multiply(GemmJob<float>* job, Rows left,
                                                      const float* right, const float* bias,
                                                      const float* addend, float* c, size_t count,
                                                      bool finish, uint8_t* memory) const {
  if (count == 0) return;  // a single row has no lower half
  const StridedRows<float> rows{left.x, left.stride, job->depth, 0};
  ThreadPool alone;
  job->context = &rows;
  job->w = right;
  job->bias = bias;
  job->residual = addend;
  job->c = c;
  job->line_rows = count;
  const Epilogue<float> none{-__builtin_inff(), __builtin_inff(), 0.0f, 0.0f};
  gemm_.Run(*job, finish ? epilogue_ : none, memory, alone);
}

void ConvStrassen::RunBlock(size_t first, size_t rows, uint8_t* memory) const {
  const size_t k = depth(), n = columns_;
  const size_t a_stride = input(0).pixel_stride(), c_stride = output().pixel_stride();
  const size_t lower = rows / 2, upper = rows - lower;
  const float* const a = input(0).data<float>() + first * a_stride;
  float* const c11 = output().data<float>() + first * c_stride;
  float* const c12 = c11 + n;
  float* const c21 = c11 + upper * c_stride;
  float* const c22 = c21 + n;
  float* const parts = reinterpret_cast<float*>(memory + parts_offset_);
  AddInputs(a, upper, lower, gemm_.Zeros(memory), parts);

  const size_t stride = parts_stride();
  const auto part = [&](Part index) { return Rows{parts + index * k, stride}; };
  const bool copies = attributes().copies;
  const Rows a1 = copies ? part(kA11) : Rows{a, a_stride};
  const Rows a2 = copies ? part(kA21) : Rows{a + upper * a_stride, a_stride};
  const float* const w = input(1).data<float>();
  const auto right = [&](RightOperand index) { return w + index * n * k; };
  const float* const bias1 = optional_data<float>(2);
  const float* const bias2 = bias1 == nullptr ? nullptr : bias1 + n;
  GemmJob<float> job;
  job.point = PointAtStridedRows<float>;
  job.groups = job.lines = 1;
  job.columns = n;
  job.depth = k;
  job.row_stride = job.residual_stride = c_stride;
  job.line_stride = 0;
  const auto multiply = [&](Rows left, const float* right, const float* bias, const float* addend,
                            float* c, size_t count, bool finish) {
    Multiply(&job, left, right, bias, addend, c, count, finish, memory);
  };
  multiply(a1, right(kB11), nullptr, nullptr, c11, upper, false);
  multiply(part(kS2), right(kT2), nullptr, c11, c22, lower, false);  // U2
  if (upper > lower) {                                               // U4 = U2 where S1 is zero
    const Rows last{part(kS2).x + lower * stride, stride};
    multiply(last, right(kT2), bias2, c11 + lower * c_stride, c12 + lower * c_stride, 1, false);
  }
  multiply(part(kS3), right(kT3), nullptr, c22, c21, lower, false);  // U3
  multiply(part(kS1), right(kT1), bias2, c22, c12, lower, false);    // U4
  const float* residual = optional_data<float>(3);
  if (residual != nullptr) residual += first * input(3).pixel_stride();
  AddResults(c11, residual, upper, lower);
  multiply({a2.x + k, a2.stride}, right(kMinusT4), bias1, c21, c21, lower, true);
  multiply(part(kS4), right(kB22), nullptr, c12, c12, upper, true);
  multiply({a1.x + k, a1.stride}, right(kB21), bias1, c11, c11, upper, true);

  job.columns = static_cast<size_t>(output().c()) - 2 * n;
  if (job.columns == 0) return;
  job.depth = 2 * k;
  const float* const bias = bias1 == nullptr ? nullptr : bias1 + 2 * n;
  const float* lower_residual = residual;
  if (residual != nullptr) {
    job.residual_stride = input(3).pixel_stride();
    residual += 2 * n;
    lower_residual = residual + upper * job.residual_stride;
  }
  multiply(a1, right(kRightOperands), bias, residual, c11 + 2 * n, upper, true);
  multiply(a2, right(kRightOperands), bias, lower_residual, c21 + 2 * n, lower, true);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ConvStrassen)
