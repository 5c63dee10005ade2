#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class LeakyRelu final : public Unary<float, LeakyReluAttributes, NameHash("leaky_relu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LeakyRelu)
