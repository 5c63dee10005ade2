#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Elu final : public Unary<float, EluAttributes, NameHash("elu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Elu)
