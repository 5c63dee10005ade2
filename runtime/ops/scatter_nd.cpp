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
    const auto rows = static_cast<size_t>(indices.dims.Count(0, indices.dims.rank - 1));
    const size_t run = static_cast<size_t>(x.dims.Count(depth_, x.dims.rank)) * x.element_size();
    const auto* from = static_cast<const uint8_t*>(input(2).raw);
    auto* const to = static_cast<uint8_t*>(output().raw);
    Copy(to, x.raw, x.CountBytes());
    for (size_t row = 0; row < rows && run > 0; ++row) {
      const size_t place = ElementPlace(indices, row, depth_, x.dims);
      Copy(to + place * run, from + row * run, run);
    }
  }

 protected:
  Status InferShape() override {
    const Tensor &x = input(0), &updates = input(2);
    const Dims& indices = input(1).dims;
    depth_ = indices.rank > 0 ? indices[indices.rank - 1] : 0;
    TRIMTAB_CHECK(depth_ >= 1 && depth_ <= x.dims.rank,
                  "indices must be [..., k] for k dimensions of x (k, rank)", depth_, x.dims.rank);
    TRIMTAB_CHECK(updates.dtype == x.dtype, "updates must be of the type of x (type)",
                  static_cast<int64_t>(updates.dtype));
    TRIMTAB_CHECK(indices.rank - 1 + x.dims.rank - depth_ <= Dims::kMaxRank, "too many dimensions",
                  indices.rank);
    Dims expected;
    for (int i = 0; i < indices.rank - 1; ++i) expected[expected.rank++] = indices[i];
    for (int i = depth_; i < x.dims.rank; ++i) expected[expected.rank++] = x.dims[i];
    TRIMTAB_CHECK(updates.dims == expected, "updates do not fit the indices (rank)",
                  updates.dims.rank);
    TRIMTAB_CHECK(x.dims.Count(0, depth_) > 0 || input(1).Count() == 0, "nothing to replace (k)",
                  depth_);
    output().dims = x.dims;
    return Status();
  }

 private:
  int depth_ = 0;  // dimensions of x that have an index
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ScatterNd)
