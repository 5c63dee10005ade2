#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Softplus final : public Unary<T, SoftplusAttributes, NameHash("softplus")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Softplus, float, F32)
TRIMTAB_TYPED_OPERATOR(Softplus, Half, F16)
