#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Div final : public Binary<float, DivAttributes, NameHash("div")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Div)
