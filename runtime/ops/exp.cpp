#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Exp final : public Unary<T, ExpAttributes, NameHash("exp")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Exp, float, F32)
TRIMTAB_TYPED_OPERATOR(Exp, Half, F16)
