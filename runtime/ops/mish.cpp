#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Mish final : public Unary<MishAttributes, FamilyHash("mish_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Mish)
