#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Abs final : public Unary<float, AbsAttributes, NameHash("abs")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Abs)
