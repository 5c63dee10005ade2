#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Tanh final : public Unary<float, TanhAttributes, NameHash("tanh")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Tanh)
