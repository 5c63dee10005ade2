#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Erf final : public Unary<ErfAttributes, FamilyHash("erf_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Erf)
