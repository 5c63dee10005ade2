#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class HardSwish final : public Unary<T, HardSwishAttributes, NameHash("hard_swish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(HardSwish, float, F32)
TRIMTAB_TYPED_OPERATOR(HardSwish, Half, F16)
