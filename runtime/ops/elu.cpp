#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Elu final : public Unary<EluAttributes, FamilyHash("elu_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Elu)
