#include "generated/attributes/branch_input.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class BranchInput final : public OperatorOf<BranchInputAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema), and takes a
  // negative rank for nothing.
  void Run(ThreadPool&) override {
    const bool holds = *static_cast<const uint8_t*>(input(1).raw) != 0;
    if (holds != attributes().when) output().dims.rank = -1;
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(1).dtype == DType::kBool && input(1).Count() == 1,
                  "the condition must be one element of type bool (elements)", input(1).Count());
    output().dims = input(0).dims;
    output().layout = input(0).layout;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(BranchInput)
