#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Exp final : public Unary<ExpAttributes, FamilyHash("exp_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Exp)
