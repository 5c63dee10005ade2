#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class LeakyRelu final : public Unary<LeakyReluAttributes, FamilyHash("leaky_relu_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LeakyRelu)
