// Matrix multiplication of two computed operands with numpy's rules: batches of matrices broadcast,
// a vector is a row (left) or a column (right) that is dropped from the result's shape.
//
// Threads share (matrix of the result, part of its rows). A thread packs the right matrix into
// panels of the GEMM kernel, in memory of its own, and keeps it for as long as it needs the same
// one.
#include "generated/attributes/mat_mul.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/matrix_batch.h"

namespace trimtab {
namespace {

// Parts per thread, so that none waits long for the last one.
constexpr size_t kPartsPerThread = 2;

template <typename T>
class MatMul final : public OperatorOf<MatMulAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  struct ThreadState {
    size_t packed;  // the matrix of b in the panels
  };

  int32_t m_, n_, k_;
  Dims batch_;  // batch dimensions of the result
  // Matrices per index of batch_; 0: broadcast.
  size_t a_steps_[Dims::kMaxRank], b_steps_[Dims::kMaxRank];
  GemmDriver<T> gemm_;
  size_t thread_bytes_;  // memory of each thread: ThreadState, scratch memory of the GEMM, panels
  ThreadPool alone_;     // of the thread that computes a part
};

template <typename T>
Status MatMul<T>::InferShape() {
  const Dims &a = input(0).dims, &b = input(1).dims;
  TRIMTAB_CHECK(a.rank >= 1 && b.rank >= 1, "operands must not be scalars");
  const int a_matrix = a.rank > 1 ? 2 : 1, b_matrix = b.rank > 1 ? 2 : 1;
  const bool transposed = attributes().transpose_b;
  TRIMTAB_CHECK(!transposed || b_matrix == 2, "a vector cannot be transposed");
  m_ = a_matrix == 2 ? a[a.rank - 2] : 1;
  k_ = a[a.rank - 1];
  n_ = b_matrix == 2 ? b[b.rank - (transposed ? 2 : 1)] : 1;
  const int32_t depth = b[b.rank - (transposed ? 1 : b_matrix)];
  TRIMTAB_CHECK(depth == k_, "inner dimensions differ (left, right)", k_, depth);

  const int a_stack = a.rank - a_matrix, b_stack = b.rank - b_matrix;
  batch_.rank = a_stack > b_stack ? a_stack : b_stack;
  for (int i = 0; i < batch_.rank; ++i) batch_[i] = 1;
  TRIMTAB_CHECK(
      BatchSteps(a, a_matrix, &batch_, a_steps_) && BatchSteps(b, b_matrix, &batch_, b_steps_),
      "leading dimensions do not broadcast");
  Dims y = batch_;
  if (a_matrix == 2) y[y.rank++] = m_;
  if (b_matrix == 2) y[y.rank++] = n_;
  output().dims = y;
  return Status();
}

template <typename T>
Status MatMul<T>::Prepare() {
  const int64_t nr = attributes().kernel.nr > 0 ? attributes().kernel.nr : 1;  // Bind refuses 0
  const auto elements = static_cast<uint64_t>(RoundUp<int64_t>(n_, nr)) * static_cast<uint64_t>(k_);
  TRIMTAB_CHECK(elements * sizeof(T) <= kMaxArenaBytes, "the right matrix is too large (elements)",
                static_cast<int64_t>(elements));
  Tensor panels;
  panels.bytes = static_cast<size_t>(elements * sizeof(T));
  TRIMTAB_RETURN_IF_ERROR(
      gemm_.Bind(ProductPlan(attributes()), panels, nullptr, 1, n_, k_, 1, 0, alone_.threads()));
  const uint64_t own =
      Aligned(sizeof(ThreadState)) + Aligned(gemm_.scratch_bytes()) + Aligned(panels.bytes);
  thread_bytes_ = static_cast<size_t>(own);
  return RequestScratch(own * static_cast<uint64_t>(threads()));
}

template <typename T>
void MatMul<T>::Run(ThreadPool& pool) {
  const size_t m = static_cast<size_t>(m_), n = static_cast<size_t>(n_),
               k = static_cast<size_t>(k_);
  const auto threads = static_cast<size_t>(pool.threads());
  const auto matrices = static_cast<size_t>(batch_.Count());
  if (k == 0) {
    memset(output().raw, 0, matrices * m * n * sizeof(T));
    return;
  }
  const size_t wanted = threads > 1 ? DivideUp(kPartsPerThread * threads, matrices) : 1;
  const size_t rows = RoundUp(DivideUp(m, wanted), gemm_.mr());
  const size_t parts = DivideUp(m, rows);
  Epilogue<T> epilogue;
  epilogue.clamp_min = -INFINITY;
  epilogue.clamp_max = INFINITY;
  for (size_t thread = 0; thread < threads; ++thread)
    scratch<ThreadState>(thread * thread_bytes_)->packed = SIZE_MAX;

  pool.For(matrices * parts, rows * n * k, [&](size_t begin, size_t end, int thread) {
    auto* const own = scratch<ThreadState>(static_cast<size_t>(thread) * thread_bytes_);
    uint8_t* const memory = reinterpret_cast<uint8_t*>(own) + Aligned(sizeof(ThreadState));
    auto* const panels = reinterpret_cast<T*>(memory + Aligned(gemm_.scratch_bytes()));
    for (size_t item = begin; item < end; ++item) {
      const size_t first = item % parts * rows;
      const size_t a = MatrixAt(item / parts, batch_, a_steps_),
                   b = MatrixAt(item / parts, batch_, b_steps_);
      if (b != own->packed)
        PackMatrix(data<T>(1) + b * k * n, k_, n_, attributes().transpose_b, gemm_.nr(), panels,
                   alone_);
      own->packed = b;
      const StridedRows<T> source{data<T>(0) + (a * m + first) * k, k, k, 0};
      GemmJob<T> job;
      job.point = PointAtStridedRows<T>;
      job.context = &source;
      job.w = panels;
      job.bias = nullptr;
      job.residual = nullptr;
      job.c = result<T>() + (item / parts * m + first) * n;
      job.groups = job.lines = 1;
      job.line_rows = Min(rows, m - first);
      job.columns = job.row_stride = n;
      job.depth = k;
      job.line_stride = 0;
      gemm_.Run(job, epilogue, memory, alone_);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(MatMul, float, F32)
TRIMTAB_TYPED_OPERATOR(MatMul, Half, F16)
