#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Sqrt final : public Unary<float, SqrtAttributes, NameHash("sqrt")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sqrt)
