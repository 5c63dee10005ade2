#include "generated/attributes/update_state.h"

#include <string.h>

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class UpdateState final : public OperatorOf<UpdateStateAttributes> {
 public:
  void Run(ThreadPool&) override {
    const Tensor& value = input(1);
    memmove(input(0).raw, value.raw, value.CountBytes());
    if (output().raw != value.raw) memcpy(output().raw, value.raw, value.CountBytes());
  }

 protected:
  Status InferShape() override {
    // The bytes of a constant of the file are known before any operator has run, and are read-only.
    TRIMTAB_CHECK(is_set_up_ || input(0).raw == nullptr, "a constant is no state");
    is_set_up_ = true;
    TRIMTAB_CHECK(input(0).dims == input(1).dims && input(0).dtype == input(1).dtype,
                  "a state and its next value differ in shape or type (ranks)", input(0).dims.rank,
                  input(1).dims.rank);
    output().dims = input(1).dims;
    output().dtype = input(1).dtype;
    return Status();
  }

  Status Prepare() override {
    TRIMTAB_CHECK(input(0).bytes == input(1).CountBytes(), "a packed constant is no state");
    return Status();
  }

 private:
  bool is_set_up_ = false;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(UpdateState)
