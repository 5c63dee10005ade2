#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Neg final : public Unary<T, NegAttributes, NameHash("neg")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Neg, float, F32)
TRIMTAB_TYPED_OPERATOR(Neg, Half, F16)
