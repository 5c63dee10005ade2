#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Mul final : public Binary<MulAttributes, FamilyHash("mul_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Mul)
