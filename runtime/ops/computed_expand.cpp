#include "generated/attributes/computed_expand.h"

#include "runtime/core/strided_copy.h"
#include "runtime/ops/computed_sizes.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

class ComputedExpand final : public OperatorOf<ComputedExpandAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    SetDims(Sizes(), &y.dims);
    if (y.Count() <= 0) return;
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(x, from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    const int missing = y.dims.rank - x.dims.rank;
    for (int i = 0; i < y.dims.rank; ++i) {
      const bool repeats = i < missing || x.dims[i - missing] == 1;
      copy.AddAxis(y.dims[i], repeats ? 0 : from[i - missing], to[i]);
    }
    copy.Run(x.raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(SetLargest(attributes().largest, &output().dims));
    const Dims &y = output().dims, &shape = input(1).dims;
    TRIMTAB_CHECK(shape.rank == 1 && shape[0] <= y.rank && input(0).dims.rank <= y.rank,
                  "there must be a size for each dimension (dimensions)", y.rank);
    return Status();
  }

 private:
  // The broadcast sizes; negative where they do not fit.
  Dims Sizes() const {
    const Dims& x = input(0).dims;
    Dims sizes;
    sizes.rank = output().dims.rank;
    const int asked = input(1).dims[0];
    for (int i = 1; i <= sizes.rank; ++i) {
      const int64_t have = i <= x.rank ? x[x.rank - i] : 1;
      const int64_t want =
          i <= asked ? IntegerElement(input(1), static_cast<size_t>(asked - i)) : 1;
      const bool fits =
          want >= 0 && want <= kMaxElements && (have == 1 || want == 1 || have == want);
      sizes[sizes.rank - i] = static_cast<int32_t>(!fits ? -1 : have == 1 ? want : have);
    }
    return sizes;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedExpand)
