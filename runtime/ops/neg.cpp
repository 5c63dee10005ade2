#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Neg final : public Unary<NegAttributes, FamilyHash("neg_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Neg)
