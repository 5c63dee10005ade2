#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Swish final : public Unary<SwishAttributes, FamilyHash("swish_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Swish)
