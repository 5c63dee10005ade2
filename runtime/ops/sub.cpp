#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Sub final : public Binary<T, SubAttributes, NameHash("sub")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Sub, float, F32)
TRIMTAB_TYPED_OPERATOR(Sub, Half, F16)
