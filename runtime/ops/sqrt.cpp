#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Sqrt final : public Unary<SqrtAttributes, FamilyHash("sqrt_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sqrt)
