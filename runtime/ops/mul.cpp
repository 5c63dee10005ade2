#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Mul final : public Binary<float, MulAttributes, NameHash("mul")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Mul)
