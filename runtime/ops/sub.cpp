#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Sub final : public Binary<float, SubAttributes, NameHash("sub")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Sub)
