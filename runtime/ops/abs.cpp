#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Abs final : public Unary<AbsAttributes, FamilyHash("abs_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Abs)
