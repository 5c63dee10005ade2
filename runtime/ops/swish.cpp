#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Swish final : public Unary<float, SwishAttributes, NameHash("swish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Swish)
