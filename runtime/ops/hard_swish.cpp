#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class HardSwish final : public Unary<float, HardSwishAttributes, NameHash("hard_swish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(HardSwish)
