#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Div final : public Binary<DivAttributes, FamilyHash("div_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Div)
