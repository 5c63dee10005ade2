#include "generated/attributes/gather_nd.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class GatherNd final : public OperatorOf<GatherNdAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor &x = input(0), &indices = input(1);
    const auto rows = static_cast<size_t>(indices.dims.Count(0, indices.dims.rank - 1));
    const size_t run = static_cast<size_t>(x.dims.Count(depth_, x.dims.rank)) * x.element_size();
    const auto* from = static_cast<const uint8_t*>(x.raw);
    auto* to = static_cast<uint8_t*>(output().raw);
    pool.For(rows, run / x.element_size() + static_cast<size_t>(depth_),
             [&](size_t begin, size_t end, int) {
               for (size_t row = begin; row < end; ++row) {
                 const size_t place = ElementOffset(indices, row, depth_, x.dims);
                 Copy(to + row * run, from + place * run, run);
               }
             });
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &indices = input(1).dims;
    depth_ = indices.rank > 0 ? indices[indices.rank - 1] : 0;
    TRIMTAB_CHECK(depth_ >= 1 && depth_ <= x.rank,
                  "indices must be [..., k] for k dimensions of x (k, rank)", depth_, x.rank);
    TRIMTAB_CHECK(x.Count(0, depth_) > 0 || indices.Count() == 0, "nothing to gather from (k)",
                  depth_);
    Dims& y = output().dims;
    TRIMTAB_CHECK(indices.rank - 1 + x.rank - depth_ <= Dims::kMaxRank, "too many dimensions",
                  indices.rank);
    y.rank = 0;
    for (int i = 0; i < indices.rank - 1; ++i) y[y.rank++] = indices[i];
    for (int i = depth_; i < x.rank; ++i) y[y.rank++] = x[i];
    return Status();
  }

 private:
  int depth_ = 0;  // dimensions of x that have an index
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(GatherNd)
