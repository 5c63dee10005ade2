// Matrix multiplication of two computed operands with numpy's rules: batches of matrices broadcast,
// a vector is a row (left) or a column (right) that is dropped from the result's shape.
#include <string.h>

#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

class MatMul final : public OperatorOf<MatMulAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;

 private:
  int32_t m_, n_, k_;
  Dims stack_;  // batch dimensions of the result
  // Matrices per index of stack_; 0: broadcast.
  size_t a_step_[Dims::kMaxRank], b_step_[Dims::kMaxRank];
};

// Computes an operand's steps through the batch from its own batch dimensions, aligned at the
// right.
bool Steps(const Dims& dims, int matrix_rank, Dims* stack, size_t* step) {
  size_t matrices = 1;
  for (int i = stack->rank - 1, j = dims.rank - matrix_rank - 1; i >= 0; --i, --j) {
    const int32_t size = j >= 0 ? dims[j] : 1;
    step[i] = size == 1 ? 0 : matrices;
    matrices *= size;
    if (size == 1) continue;
    if ((*stack)[i] != 1 && (*stack)[i] != size) return false;
    (*stack)[i] = size;
  }
  return true;
}

Status MatMul::InferShape() {
  const Dims &a = input(0).dims, &b = input(1).dims;
  TRIMTAB_CHECK(a.rank >= 1 && b.rank >= 1, "operands must not be scalars");
  const int a_matrix = a.rank > 1 ? 2 : 1, b_matrix = b.rank > 1 ? 2 : 1;
  m_ = a_matrix == 2 ? a[a.rank - 2] : 1;
  k_ = a[a.rank - 1];
  n_ = b_matrix == 2 ? b[b.rank - 1] : 1;
  TRIMTAB_CHECK(b[b.rank - b_matrix] == k_, "inner dimensions differ (left, right)", k_,
                b[b.rank - b_matrix]);

  const int a_stack = a.rank - a_matrix, b_stack = b.rank - b_matrix;
  stack_.rank = a_stack > b_stack ? a_stack : b_stack;
  for (int i = 0; i < stack_.rank; ++i) stack_[i] = 1;
  TRIMTAB_CHECK(Steps(a, a_matrix, &stack_, a_step_) && Steps(b, b_matrix, &stack_, b_step_),
                "leading dimensions do not broadcast");
  Dims y = stack_;
  if (a_matrix == 2) y[y.rank++] = m_;
  if (b_matrix == 2) y[y.rank++] = n_;
  output().dims = y;
  return Status();
}

void MatMul::Run(ThreadPool& pool) {
  const float *const a = input(0).data<float>(), *const b = input(1).data<float>();
  float* const y = output().data<float>();
  const size_t m = m_, n = n_, k = k_;
  const size_t rows = static_cast<size_t>(stack_.Count()) * m;
  pool.For(rows, n * k, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      size_t rest = row / m, a_matrix = 0, b_matrix = 0;
      for (int i = stack_.rank - 1; i >= 0; --i) {
        const size_t index = rest % stack_[i];
        rest /= stack_[i];
        a_matrix += index * a_step_[i];
        b_matrix += index * b_step_[i];
      }
      const float* const left = a + (a_matrix * m + row % m) * k;
      const float* right = b + b_matrix * k * n;
      float* const out = y + row * n;
      memset(out, 0, n * sizeof(float));
      for (size_t p = 0; p < k; ++p, right += n) {
        for (size_t j = 0; j < n; ++j) out[j] += left[p] * right[j];
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(MatMul)
