#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Mish final : public Unary<T, MishAttributes, NameHash("mish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Mish, float, F32)
TRIMTAB_TYPED_OPERATOR(Mish, Half, F16)
