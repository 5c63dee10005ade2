#include "generated/attributes/convert_layout.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class ConvertLayout final : public OperatorOf<ConvertLayoutAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(input(0), from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    for (int i = 0; i < y.dims.rank; ++i) copy.AddAxis(y.dims[i], from[i], to[i]);
    copy.Run(input(0).raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(0).dims.rank == 4, "only 4-D tensors have a layout (rank)",
                  input(0).dims.rank);
    output().dims = input(0).dims;
    output().layout =
        attributes().layout == ConvertLayoutLayout::kNhwc ? Layout::kNhwc : Layout::kPlain;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ConvertLayout)
