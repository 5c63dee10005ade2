#include "generated/attributes/gather_elements.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/core/strided_copy.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class GatherElements final : public OperatorOf<GatherElementsAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Dims &x = input(0).dims, &y = output().dims;
    ptrdiff_t strides[Dims::kMaxRank];
    LogicalStrides(input(0), strides);
    const ptrdiff_t along = strides[axis_];
    strides[axis_] = 0;
    const ptrdiff_t step = strides[y.rank - 1];
    const size_t bytes = output().element_size();
    const auto n = static_cast<size_t>(y[y.rank - 1]);
    const auto rows = static_cast<size_t>(y.Count(0, y.rank - 1));
    pool.For(rows, 4 * n, [&](size_t begin, size_t end, int) {
      for (size_t row = begin; row < end; ++row) {
        ptrdiff_t base = 0;
        size_t rest = row;
        for (int i = y.rank - 2; i >= 0; --i) {
          const auto extent = static_cast<size_t>(y[i]);
          base += static_cast<ptrdiff_t>(rest % extent) * strides[i];
          rest /= extent;
        }
        for (size_t i = 0, to = row * n; i < n; ++i, ++to) {
          const auto index = static_cast<ptrdiff_t>(ElementIndex(input(1), to, x[axis_]));
          const ptrdiff_t from = base + static_cast<ptrdiff_t>(i) * step + index * along;
          CopyElement(
              static_cast<uint8_t*>(output().raw) + to * bytes,
              static_cast<const uint8_t*>(input(0).raw) + from * static_cast<ptrdiff_t>(bytes),
              bytes);
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &indices = input(1).dims;
    axis_ = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
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
  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(GatherElements)
