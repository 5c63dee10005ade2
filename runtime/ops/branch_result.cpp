#include "generated/attributes/branch_result.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class BranchResult final : public OperatorOf<BranchResultAttributes> {
 public:
  void Run(ThreadPool&) override {
    const Tensor& x = input(*static_cast<const uint8_t*>(input(2).raw) != 0 ? 0 : 1);
    output().dims = x.dims;
    Copy(output().raw, x.raw, x.CountBytes());
  }

 protected:
  Status InferShape() override {
    const Tensor &a = input(0), &b = input(1);
    TRIMTAB_CHECK(a.dtype == b.dtype && a.dims.rank == b.dims.rank,
                  "the results of the branches differ in type or rank (ranks)", a.dims.rank,
                  b.dims.rank);
    TRIMTAB_CHECK(input(2).dtype == DType::kBool && input(2).Count() == 1,
                  "the condition must be one element of type bool (elements)", input(2).Count());
    Dims& y = output().dims;
    y = a.dims;
    for (int i = 0; i < y.rank; ++i) y[i] = b.dims[i] > y[i] ? b.dims[i] : y[i];
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BranchResult)
