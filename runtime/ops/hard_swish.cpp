#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class HardSwish final : public Unary<HardSwishAttributes, FamilyHash("hard_swish_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(HardSwish)
