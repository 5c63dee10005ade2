#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Sigmoid final : public Unary<float, SigmoidAttributes, NameHash("sigmoid")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sigmoid)
