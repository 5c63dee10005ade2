#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Max final : public Binary<MaxAttributes, FamilyHash("max_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Max)
