#include "generated/attributes/take_rows.h"

#include "runtime/core/operator.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

class TakeRows final : public OperatorOf<TakeRowsAttributes> {
 public:
  // The executor lets the result share the input's memory (`view` in the schema).
  void Run(ThreadPool&) override {
    const int64_t count = IntegerElement(input(1), 0);
    output().dims[0] = count < 0 || count > input(0).dims[0] ? -1 : static_cast<int32_t>(count);
  }

 protected:
  Status InferShape() override {
    TRIMTAB_CHECK(input(0).dims.rank > 0 && input(0).dims.rank != 4,
                  "x must have rows, and cannot be an image (rank)", input(0).dims.rank);
    TRIMTAB_CHECK(input(1).Count() == 1, "there must be one count (counts)", input(1).Count());
    output().dims = input(0).dims;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(TakeRows)
