#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Min final : public Binary<MinAttributes, FamilyHash("min_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Min)
