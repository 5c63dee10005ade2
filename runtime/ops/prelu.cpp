#include "generated/attributes/prelu.h"

#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Prelu final : public BinaryOperator<T> {
 public:
  Prelu() : BinaryOperator<T>(FamilyHash<T>(NameHash("prelu"))) {}

 private:
  // The slope is broadcast to x, never x to the slope.
  Status InferShape() override {
    TRIMTAB_RETURN_IF_ERROR(BinaryOperator<T>::InferShape());
    TRIMTAB_CHECK(this->output().dims == this->input(0).dims,
                  "slope cannot be broadcast to x (ranks)", this->input(1).dims.rank,
                  this->input(0).dims.rank);
    return Status();
  }
};

static_assert(sizeof(PreluAttributes) == sizeof(BinaryAttributes), "the attribute is a kernel");

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Prelu, float, F32)
TRIMTAB_TYPED_OPERATOR(Prelu, Half, F16)
