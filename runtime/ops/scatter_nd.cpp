#include "generated/attributes/scatter_nd.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class ScatterNd final : public OperatorOf<ScatterNdAttributes> {
 public:
  // Single-threaded: the last update of an element wins.
  void Run(ThreadPool&) override {
    const Tensor &x = input(0), &indices = input(1);
    const auto* from = static_cast<const uint8_t*>(input(2).raw);
    auto* const to = static_cast<uint8_t*>(output().raw);
    Copy(to, x.raw, x.CountBytes());
    if (attributes().by_element) {
      ReplaceElements(from, to);
      return;
    }
    const auto rows = static_cast<size_t>(indices.dims.Count(0, indices.dims.rank - 1));
    const size_t run = static_cast<size_t>(x.dims.Count(depth_, x.dims.rank)) * x.element_size();
    for (size_t row = 0; row < rows && run > 0; ++row) {
      const size_t place = ElementOffset(indices, row, depth_, x.dims);
      Copy(to + place * run, from + row * run, run);
    }
  }

 protected:
  Status InferShape() override {
    const Tensor &x = input(0), &indices = input(1), &updates = input(2);
    TRIMTAB_CHECK(updates.dtype == x.dtype, "updates must be of the type of x (type)",
                  static_cast<int64_t>(updates.dtype));
    output().dims = x.dims;
    return attributes().by_element ? CheckElements(x.dims, indices.dims, updates.dims)
                                   : CheckSlices(x.dims, indices.dims, updates.dims);
  }

 private:
  Status CheckSlices(const Dims& x, const Dims& indices, const Dims& updates) {
    depth_ = indices.rank > 0 ? indices[indices.rank - 1] : 0;
    TRIMTAB_CHECK(depth_ >= 1 && depth_ <= x.rank,
                  "indices must be [..., k] for k dimensions of x (k, rank)", depth_, x.rank);
    TRIMTAB_CHECK(indices.rank - 1 + x.rank - depth_ <= Dims::kMaxRank, "too many dimensions",
                  indices.rank);
    Dims expected;
    for (int i = 0; i < indices.rank - 1; ++i) expected[expected.rank++] = indices[i];
    for (int i = depth_; i < x.rank; ++i) expected[expected.rank++] = x[i];
    TRIMTAB_CHECK(updates == expected, "updates do not fit the indices (rank)", updates.rank);
    TRIMTAB_CHECK(x.Count(0, depth_) > 0 || indices.Count() == 0, "nothing to replace (k)", depth_);
    return Status();
  }

  Status CheckElements(const Dims& x, const Dims& indices, const Dims& updates) {
    const int axis = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
    TRIMTAB_CHECK(indices == updates && indices.rank == x.rank,
                  "each index must have an update (rank)", indices.rank);
    for (int i = 0; i < x.rank; ++i) {
      TRIMTAB_CHECK(i == axis || indices[i] <= x[i],
                    "there are more indices than elements (dimension)", i);
    }
    TRIMTAB_CHECK(x[axis] > 0 || indices.Count() == 0, "nothing to replace (axis)", axis);
    return Status();
  }

  void ReplaceElements(const uint8_t* from, uint8_t* to) const {
    const Tensor& indices = input(1);
    const Dims& x = input(0).dims;
    const int axis = x.Axis(attributes().axis);
    const size_t size = input(0).element_size();
    const auto count = static_cast<size_t>(indices.Count());
    int32_t at[Dims::kMaxRank] = {};
    for (size_t i = 0; i < count && x[axis] > 0; ++i, from += size) {
      size_t place = 0;
      for (int k = 0; k < x.rank; ++k) {
        const int64_t index = k == axis ? ElementIndex(indices, i, x[k]) : at[k];
        place = place * static_cast<size_t>(x[k]) + static_cast<size_t>(index);
      }
      CopyElement(to + place * size, from, size);
      for (int k = x.rank - 1; k >= 0 && ++at[k] == indices.dims[k]; --k) at[k] = 0;
    }
  }

  int depth_ = 0;  // dimensions of x that have an index
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ScatterNd)
