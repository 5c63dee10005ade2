#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Sigmoid final : public Unary<SigmoidAttributes, FamilyHash("sigmoid_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sigmoid)
