#include "generated/attributes/state.h"

#include <string.h>

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class State final : public OperatorOf<StateAttributes> {
 public:
  void Run(ThreadPool&) override { memcpy(output().raw, input(0).raw, output().bytes); }

 protected:
  Status InferShape() override {
    output().dims = input(0).dims;
    return Status();
  }

  Status Prepare() override {
    output().bytes = output().CountBytes();
    TRIMTAB_CHECK(input(0).bytes >= output().bytes, "the first value of a state is incomplete");
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(State)
