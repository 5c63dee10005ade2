#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Erf final : public Unary<float, ErfAttributes, NameHash("erf")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Erf)
