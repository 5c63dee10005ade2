#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Elu final : public Unary<T, EluAttributes, NameHash("elu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Elu, float, F32)
TRIMTAB_TYPED_OPERATOR(Elu, Half, F16)
