// Softmax along an axis that is not the last one in memory, or along short rows, which are
// transposed.
#include "generated/attributes/softmax_columns.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

constexpr size_t kColumns = 64;  // of a call: a cache line of each row, and more

template <typename T>
class SoftmaxColumns final : public OperatorOf<SoftmaxColumnsAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& in = input(0);
    Tensor& out = output();
    const Dims dims = in.PhysicalDims();
    const int axis = in.PhysicalAxis(axis_);
    const auto n = static_cast<size_t>(dims[axis]);
    const auto inner = static_cast<size_t>(dims.Count(axis + 1, dims.rank));
    const size_t blocks = (inner + kColumns - 1) / kColumns;
    const T* const x = in.data<T>();
    T* const y = out.data<T>();
    if (n == 0 || inner == 0) return;
    if (inner == 1) {
      NormalizeRows(x, y, static_cast<size_t>(dims.Count(0, axis)), n, pool);
      return;
    }
    const size_t outer = static_cast<size_t>(dims.Count(0, axis));
    const size_t columns = inner < kColumns ? inner : kColumns;
    pool.For(outer * blocks, n * columns * kFunctionCost, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i % blocks * kColumns, rest = inner - first;
        const size_t at = i / blocks * n * inner + first;
        kernel_({x + at, y + at, n, inner, rest < kColumns ? rest : kColumns});
      }
    });
  }

 private:
  Status InferShape() override {
    const int64_t axis = attributes().axis;
    axis_ = input(0).dims.Axis(axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", axis, input(0).dims.rank);
    output().dims = input(0).dims;
    return Status();
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("softmax_columns")>(attributes().kernel, &kernel_));
    const Dims dims = input(0).PhysicalDims();
    const int axis = input(0).PhysicalAxis(axis_);
    if (dims.Count(axis + 1, dims.rank) != 1) return Status();
    return RequestScratch(static_cast<uint64_t>(threads()) * static_cast<uint64_t>(dims[axis]) *
                          kColumns * sizeof(T));
  }

  // Rows of n elements, kColumns at once.
  void NormalizeRows(const T* x, T* y, size_t rows, size_t n, ThreadPool& pool) const {
    const size_t cost = n * kColumns * kFunctionCost;
    pool.For(DivideUp(rows, kColumns), cost, [&](size_t begin, size_t end, int thread) {
      T* const columns = scratch<T>(static_cast<size_t>(thread) * n * kColumns * sizeof(T));
      for (size_t block = begin; block < end; ++block) {
        const size_t at = block * kColumns * n, count = Min(kColumns, rows - block * kColumns);
        for (size_t row = 0; row < count; ++row) {
          for (size_t i = 0; i < n; ++i) columns[i * kColumns + row] = x[at + row * n + i];
        }
        kernel_({columns, columns, n, kColumns, count});
        for (size_t row = 0; row < count; ++row) {
          for (size_t i = 0; i < n; ++i) y[at + row * n + i] = columns[i * kColumns + row];
        }
      }
    });
  }

  int axis_ = 0;
  Kernel<SoftmaxColumnsArgs<T>> kernel_ = nullptr;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(SoftmaxColumns, float, F32)
TRIMTAB_TYPED_OPERATOR(SoftmaxColumns, Half, F16)
