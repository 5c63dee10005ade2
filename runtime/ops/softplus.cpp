#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Softplus final : public Unary<SoftplusAttributes, FamilyHash("softplus_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Softplus)
