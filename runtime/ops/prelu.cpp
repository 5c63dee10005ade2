#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Prelu final : public Binary<float, PreluAttributes, NameHash("prelu")> {
  // The slope is broadcast to x, never the other way round.
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(Binary::InferShape());
    TRIMTAB_CHECK(output().dims == input(0).dims, "slope cannot be broadcast to x (ranks)",
                  input(1).dims.rank, input(0).dims.rank);
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Prelu)
