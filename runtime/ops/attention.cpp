// Attention of computed queries, keys and values, in blocks of queries: scores, softmax and the
// weighted sum of values follow each other while a block's scores are in the cache, so that the
// matrix of all scores is never in memory (Dao et al. 2022, "FlashAttention").
//
// Threads share (matrix of the result, block of its rows). A thread packs keys and values into
// panels of the GEMM kernel, in memory of its own, and keeps them for as long as it needs the same
// ones.
#include "generated/attributes/attention.h"

#include <math.h>
#include <stdint.h>

#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/matrix_batch.h"

namespace trimtab {
namespace {

template <typename T>
class Attention final : public OperatorOf<AttentionAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  enum Input { kQueries, kKeys, kValues, kMask, kInputs };
  // Memory of a thread: it begins with the keys and values that are packed.
  struct ThreadState {
    size_t keys, values;
  };
  // Where the parts of a thread's memory begin.
  struct Parts {
    uint64_t gemm, keys, values, scores, end;
  };

  // Binds a GEMM of [rows, depth] by [depth, columns], whose panels it counts in `bytes`.
  Status BindProduct(const ProductPlan& plan, int32_t columns, int32_t depth, GemmDriver<T>* gemm,
                     uint64_t* bytes) const;
  // Computes `rows` rows of a matrix of the result, beginning with `first`.
  void RunBlock(size_t matrix, size_t first, size_t rows, uint8_t* memory);
  void Multiply(const GemmDriver<T>& gemm, const T* rows, size_t count, size_t stride, size_t depth,
                const T* panels, size_t columns, T* c, size_t c_stride, const T* mask,
                void* scratch);

  int32_t queries_, keys_, depth_, columns_;
  Dims batch_;  // batch dimensions of the result
  size_t steps_[kInputs][Dims::kMaxRank];
  size_t mask_step_;             // elements between rows of the mask; 0: one row for all queries
  size_t block_, row_, stride_;  // queries per block; elements of a row of scores, and between rows
  Parts parts_;
  GemmDriver<T> scores_, sums_;
  Kernel<SoftmaxArgs<T>> softmax_ = nullptr;
  ThreadPool alone_;  // of the thread that computes a block
};

template <typename T>
Status Attention<T>::InferShape() {
  batch_.rank = 0;
  for (int i = 0; i < kInputs; ++i) {
    if (!has_input(i)) continue;
    const int rank = input(i).dims.rank;
    TRIMTAB_CHECK(rank >= (i == kMask ? 1 : 2), "operands must be matrices (input, rank)", i, rank);
    if (rank - 2 > batch_.rank) batch_.rank = rank - 2;
  }
  for (int i = 0; i < batch_.rank; ++i) batch_[i] = 1;
  const Dims &q = input(kQueries).dims, &k = input(kKeys).dims, &v = input(kValues).dims;
  const int k_columns = attributes().transpose_k ? 2 : 1,
            v_columns = attributes().transpose_v ? 2 : 1;
  queries_ = q[q.rank - 2];
  depth_ = q[q.rank - 1];
  keys_ = k[k.rank - k_columns];
  columns_ = v[v.rank - v_columns];
  const int32_t k_depth = k[k.rank - 3 + k_columns], values = v[v.rank - 3 + v_columns];
  TRIMTAB_CHECK(k_depth == depth_, "lengths of queries and keys differ", depth_, k_depth);
  TRIMTAB_CHECK(values == keys_, "numbers of keys and values differ", keys_, values);
  mask_step_ = 0;
  int mask_rank = 2;
  if (has_input(kMask)) {
    const Dims& mask = input(kMask).dims;
    mask_rank = mask.rank > 1 ? 2 : 1;
    const int32_t rows = mask.rank > 1 ? mask[mask.rank - 2] : 1;
    TRIMTAB_CHECK(mask[mask.rank - 1] == keys_ && (rows == 1 || rows == queries_),
                  "the mask does not fit the scores (rows, columns)", rows, mask[mask.rank - 1]);
    if (rows > 1) mask_step_ = static_cast<size_t>(keys_);
  }
  for (int i = 0; i < kInputs; ++i) {
    if (!has_input(i)) continue;
    TRIMTAB_CHECK(BatchSteps(input(i).dims, i == kMask ? mask_rank : 2, &batch_, steps_[i]),
                  "leading dimensions do not broadcast (input)", i);
  }
  output().dims = batch_;
  Dims& y = output().dims;
  y[y.rank++] = queries_;
  y[y.rank++] = columns_;
  return Status();
}

template <typename T>
Status Attention<T>::BindProduct(const ProductPlan& plan, int32_t columns, int32_t depth,
                                 GemmDriver<T>* gemm, uint64_t* bytes) const {
  const int64_t nr = plan.kernel.nr > 0 ? plan.kernel.nr : 1;  // Bind refuses 0
  const auto elements =
      static_cast<uint64_t>(RoundUp<int64_t>(columns, nr)) * static_cast<uint64_t>(depth);
  TRIMTAB_CHECK(elements * sizeof(T) <= kMaxArenaBytes, "a right matrix is too large (elements)",
                static_cast<int64_t>(elements));
  Tensor panels;
  panels.bytes = static_cast<size_t>(elements * sizeof(T));
  *bytes = Aligned(panels.bytes);
  return gemm->Bind(plan, panels, nullptr, 1, columns, depth, 1, 0, alone_.threads());
}

template <typename T>
Status Attention<T>::Prepare() {
  const AttentionAttributes& a = attributes();
  ProductPlan plan(a);
  uint64_t keys = 0, values = 0;
  TRIMTAB_RETURN_IF_ERROR(BindProduct(plan, keys_, depth_, &scores_, &keys));
  plan.panels = a.value_panels;
  plan.call_tiles = a.value_call_tiles;
  TRIMTAB_RETURN_IF_ERROR(BindProduct(plan, columns_, keys_, &sums_, &values));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("softmax")>(a.softmax_kernel, &softmax_));
  const auto queries = static_cast<size_t>(queries_);
  block_ = EvenBlocks(queries, static_cast<size_t>(a.block), scores_.mr());
  row_ = RoundUp(static_cast<size_t>(keys_), static_cast<size_t>(a.unit));
  stride_ = row_ + static_cast<size_t>(a.gap);
  const uint64_t scores = uint64_t{block_} * stride_ * sizeof(T);
  TRIMTAB_CHECK(scores <= kMaxArenaBytes, "a block of scores is too large (bytes)",
                static_cast<int64_t>(scores));
  const uint64_t gemm = scores_.scratch_bytes() > sums_.scratch_bytes() ? scores_.scratch_bytes()
                                                                        : sums_.scratch_bytes();
  parts_.gemm = Aligned(sizeof(ThreadState));
  parts_.keys = parts_.gemm + Aligned(gemm);
  parts_.values = parts_.keys + keys;
  parts_.scores = parts_.values + values;
  parts_.end = parts_.scores + Aligned(scores);
  return RequestScratch(parts_.end * static_cast<uint64_t>(threads()));
}

template <typename T>
void Attention<T>::Multiply(const GemmDriver<T>& gemm, const T* rows, size_t count, size_t stride,
                            size_t depth, const T* panels, size_t columns, T* c, size_t c_stride,
                            const T* mask, void* scratch) {
  const StridedRows<T> source{rows, stride, depth, 0};
  GemmJob<T> job;
  job.point = PointAtStridedRows<T>;
  job.context = &source;
  job.w = panels;
  job.bias = nullptr;
  job.residual = mask;
  job.residual_stride = mask_step_;
  job.c = c;
  job.groups = job.lines = 1;
  job.line_rows = count;
  job.columns = columns;
  job.row_stride = c_stride;
  job.depth = depth;
  job.line_stride = 0;
  Epilogue<T> epilogue;
  epilogue.clamp_min = -INFINITY;
  epilogue.clamp_max = INFINITY;
  gemm.Run(job, epilogue, scratch, alone_);
}

template <typename T>
void Attention<T>::RunBlock(size_t matrix, size_t first, size_t rows, uint8_t* memory) {
  const auto queries = static_cast<size_t>(queries_), n = static_cast<size_t>(keys_),
             depth = static_cast<size_t>(depth_), columns = static_cast<size_t>(columns_);
  auto* const own = reinterpret_cast<ThreadState*>(memory);
  uint8_t* const scratch = memory + parts_.gemm;
  auto* const keys = reinterpret_cast<T*>(memory + parts_.keys);
  auto* const values = reinterpret_cast<T*>(memory + parts_.values);
  auto* const scores = reinterpret_cast<T*>(memory + parts_.scores);
  const size_t q = MatrixAt(matrix, batch_, steps_[kQueries]),
               k = MatrixAt(matrix, batch_, steps_[kKeys]),
               v = MatrixAt(matrix, batch_, steps_[kValues]);
  if (k != own->keys)
    PackMatrix(data<T>(kKeys) + k * n * depth, depth_, keys_, attributes().transpose_k,
               scores_.nr(), keys, alone_);
  if (v != own->values)
    PackMatrix(data<T>(kValues) + v * n * columns, keys_, columns_, attributes().transpose_v,
               sums_.nr(), values, alone_);
  *own = {k, v};
  const T* mask = nullptr;
  if (has_input(kMask)) {
    const size_t matrix_rows = mask_step_ == 0 ? 1 : queries;
    mask = data<T>(kMask) + MatrixAt(matrix, batch_, steps_[kMask]) * matrix_rows * n +
           first * mask_step_;
  }
  Multiply(scores_, data<T>(kQueries) + (q * queries + first) * depth, rows, depth, depth, keys, n,
           scores, stride_, mask, scratch);
  T* row = scores;
  for (size_t i = 0; i < rows; ++i, row += stride_) {
    for (size_t j = n; j < row_; ++j) row[j] = static_cast<T>(-INFINITY);
    softmax_({row, row, row_});
  }
  Multiply(sums_, scores, rows, stride_, n, values, columns,
           result<T>() + (matrix * queries + first) * columns, columns, nullptr, scratch);
}

template <typename T>
void Attention<T>::Run(ThreadPool& pool) {
  const auto queries = static_cast<size_t>(queries_), n = static_cast<size_t>(keys_);
  const auto matrices = static_cast<size_t>(batch_.Count());
  const auto threads = static_cast<size_t>(pool.threads());
  // Two blocks per thread, so that none waits long for the last one.
  const size_t wanted = threads > 1 ? DivideUp(2 * threads, matrices) : 1;
  const size_t rows = Min(block_, RoundUp(DivideUp(queries, wanted), scores_.mr()));
  const size_t blocks = DivideUp(queries, rows);
  for (size_t thread = 0; thread < threads; ++thread)
    *scratch<ThreadState>(thread * static_cast<size_t>(parts_.end)) = {SIZE_MAX, SIZE_MAX};
  const size_t cost = n * static_cast<size_t>(depth_ + columns_ + int32_t{kFunctionCost});

  pool.For(matrices * blocks, rows * cost, [&](size_t begin, size_t end, int thread) {
    auto* const memory =
        scratch<uint8_t>(static_cast<size_t>(thread) * static_cast<size_t>(parts_.end));
    for (size_t item = begin; item < end; ++item) {
      const size_t first = item % blocks * rows;
      RunBlock(item / blocks, first, Min(rows, queries - first), memory);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Attention, float, F32)
TRIMTAB_TYPED_OPERATOR(Attention, Half, F16)
