#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Exp final : public Unary<float, ExpAttributes, NameHash("exp")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Exp)
