#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class HardSigmoid final : public Unary<float, HardSigmoidAttributes, NameHash("hard_sigmoid")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(HardSigmoid)
