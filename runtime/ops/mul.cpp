#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Mul final : public Binary<T, MulAttributes, NameHash("mul")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Mul, float, F32)
TRIMTAB_TYPED_OPERATOR(Mul, Half, F16)
