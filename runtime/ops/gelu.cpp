#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Gelu final : public Unary<GeluAttributes, FamilyHash("gelu_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gelu)
