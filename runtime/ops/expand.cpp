#include "generated/attributes/expand.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class Expand final : public OperatorOf<ExpandAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
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
  // As in ONNX, a 1 in `shape` keeps the input's dimension.
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    const IntList& shape = attributes().shape;
    TRIMTAB_CHECK(shape.size <= Dims::kMaxRank, "too many dimensions", shape.size);
    const int asked = static_cast<int>(shape.size);
    Dims& result = output().dims;
    result.rank = asked > dims.rank ? asked : dims.rank;
    for (int i = 1; i <= result.rank; ++i) {
      const int64_t have = i <= dims.rank ? dims[dims.rank - i] : 1;
      const int64_t want = i <= asked ? shape[static_cast<size_t>(asked - i)] : 1;
      TRIMTAB_CHECK(want >= 0 && want <= INT32_MAX && (have == 1 || want == 1 || have == want),
                    "a dimension cannot be broadcast (from, to)", have, want);
      result[result.rank - i] = static_cast<int32_t>(have == 1 ? want : have);
    }
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Expand)
