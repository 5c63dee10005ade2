#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Pow final : public Binary<PowAttributes, FamilyHash("pow_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Pow)
