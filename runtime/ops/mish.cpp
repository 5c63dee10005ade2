#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Mish final : public Unary<float, MishAttributes, NameHash("mish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Mish)
