#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class HardSigmoid final : public Unary<HardSigmoidAttributes, FamilyHash("hard_sigmoid_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(HardSigmoid)
