#include "generated/attributes/transpose.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class Transpose final : public OperatorOf<TransposeAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(input(0), from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    for (int i = 0; i < y.dims.rank; ++i) {
      copy.AddAxis(y.dims[i], from[attributes().permutation[static_cast<size_t>(i)]], to[i]);
    }
    copy.Run(input(0).raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    const IntList& permutation = attributes().permutation;
    TRIMTAB_CHECK(permutation.size == static_cast<uint32_t>(dims.rank),
                  "the permutation does not fit the dimensions (entries, rank)", permutation.size,
                  dims.rank);
    Dims permuted = dims;
    unsigned seen = 0;
    for (int i = 0; i < dims.rank; ++i) {
      const int64_t axis = permutation[static_cast<size_t>(i)];
      TRIMTAB_CHECK(axis >= 0 && axis < dims.rank && (seen >> axis & 1) == 0,
                    "not a permutation (entry, value)", i, axis);
      seen |= 1u << axis;
      permuted[i] = dims[static_cast<int>(axis)];
    }
    output().dims = permuted;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Transpose)
