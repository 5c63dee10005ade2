#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Softplus final : public Unary<float, SoftplusAttributes, NameHash("softplus")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Softplus)
