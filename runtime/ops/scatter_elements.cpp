#include "generated/attributes/scatter_elements.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class ScatterElements final : public OperatorOf<ScatterElementsAttributes> {
 public:
  // Single-threaded: the last update of an element wins.
  void Run(ThreadPool&) override {
    const Tensor &x = input(0), &indices = input(1);
    const size_t size = x.element_size(),
                 inner = static_cast<size_t>(x.dims.Count(axis_ + 1, rank_));
    const auto length = static_cast<size_t>(x.dims[axis_]);
    const auto* from = static_cast<const uint8_t*>(input(2).raw);
    auto* const to = static_cast<uint8_t*>(output().raw);
    Copy(to, x.raw, x.CountBytes());
    const auto count = static_cast<size_t>(indices.Count());
    int32_t at[Dims::kMaxRank] = {};
    for (size_t i = 0; i < count && length > 0; ++i, from += size) {
      size_t outer = 0, rest = 0;
      for (int k = 0; k < axis_; ++k) outer = outer * Size(x, k) + static_cast<size_t>(at[k]);
      for (int k = axis_ + 1; k < rank_; ++k) rest = rest * Size(x, k) + static_cast<size_t>(at[k]);
      const auto index = static_cast<size_t>(ElementIndex(indices, i, x.dims[axis_]));
      CopyElement(to + ((outer * length + index) * inner + rest) * size, from, size);
      for (int k = rank_ - 1; k >= 0 && ++at[k] == indices.dims[k]; --k) at[k] = 0;
    }
  }

 protected:
  Status InferShape() override {
    const Tensor &x = input(0), &indices = input(1), &updates = input(2);
    rank_ = x.dims.rank;
    axis_ = x.dims.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, rank_);
    TRIMTAB_CHECK(indices.dims == updates.dims && indices.dims.rank == rank_,
                  "each index must have an update (rank)", indices.dims.rank);
    TRIMTAB_CHECK(updates.dtype == x.dtype, "updates must be of the type of x (type)",
                  static_cast<int64_t>(updates.dtype));
    for (int i = 0; i < rank_; ++i) {
      TRIMTAB_CHECK(i == axis_ || indices.dims[i] <= x.dims[i],
                    "there are more indices than elements (dimension)", i);
    }
    TRIMTAB_CHECK(x.dims[axis_] > 0 || indices.Count() == 0, "nothing to replace (axis)", axis_);
    output().dims = x.dims;
    return Status();
  }

 private:
  static size_t Size(const Tensor& x, int axis) { return static_cast<size_t>(x.dims[axis]); }

  int axis_ = 0;
  int rank_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ScatterElements)
