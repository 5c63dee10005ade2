#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/core/strided_copy.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class GatherElements final : public OperatorOf<GatherElementsAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Dims& y = output().dims;
    const auto n = static_cast<size_t>(y[y.rank - 1]);
    const auto rows = static_cast<size_t>(y.Count(0, y.rank - 1));
    pool.For(rows, 4 * n, [&](size_t begin, size_t end, int) {
      for (size_t row = begin; row < end; ++row) {
        // Elements are moved as bits: there is a loop per size, not per type.
        switch (output().element_size()) {
          case 1:
            Take<uint8_t>(row, n);
            break;
          case 2:
            Take<uint16_t>(row, n);
            break;
          case 4:
            Take<uint32_t>(row, n);
            break;
          default:
            Take<uint64_t>(row, n);
            break;
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &indices = input(1).dims;
    axis_ = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is outside the dimensions (axis, rank)", attributes().axis,
                  x.rank);
    TRIMTAB_CHECK(indices.rank == x.rank, "x and indices differ in rank (of x, of indices)", x.rank,
                  indices.rank);
    for (int i = 0; i < x.rank; ++i) {
      TRIMTAB_CHECK(i == axis_ || indices[i] <= x[i], "there are more indices than elements (axis)",
                    i);
    }
    TRIMTAB_CHECK(x[axis_] > 0 || indices.Count() == 0, "nothing to gather from (axis)", axis_);
    output().dims = indices;
    return Status();
  }

 private:
  template <typename T>
  void Take(size_t row, size_t n) const {
    const Dims &x = input(0).dims, &y = output().dims;
    ptrdiff_t strides[Dims::kMaxRank];
    LogicalStrides(input(0), strides);
    const ptrdiff_t along = strides[axis_];
    strides[axis_] = 0;
    ptrdiff_t base = 0;
    size_t rest = row;
    for (int i = y.rank - 2; i >= 0; --i) {
      const auto extent = static_cast<size_t>(y[i]);
      base += static_cast<ptrdiff_t>(rest % extent) * strides[i];
      rest /= extent;
    }
    const auto* from = static_cast<const T*>(input(0).raw) + base;
    auto* to = static_cast<T*>(output().raw) + row * n;
    const ptrdiff_t step = strides[y.rank - 1];
    for (size_t i = 0; i < n; ++i) {
      const auto index = static_cast<ptrdiff_t>(ElementIndex(input(1), row * n + i, x[axis_]));
      to[i] = from[static_cast<ptrdiff_t>(i) * step + index * along];
    }
  }

  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(GatherElements)
