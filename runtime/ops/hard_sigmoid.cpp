#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class HardSigmoid final : public Unary<T, HardSigmoidAttributes, NameHash("hard_sigmoid")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(HardSigmoid, float, F32)
TRIMTAB_TYPED_OPERATOR(HardSigmoid, Half, F16)
