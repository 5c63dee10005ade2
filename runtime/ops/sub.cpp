#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Sub final : public Binary<SubAttributes, FamilyHash("sub_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sub)
