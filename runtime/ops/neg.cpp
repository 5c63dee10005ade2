#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Neg final : public Unary<float, NegAttributes, NameHash("neg")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Neg)
