#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Max final : public Binary<T, MaxAttributes, NameHash("max")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Max, float, F32)
TRIMTAB_TYPED_OPERATOR(Max, Half, F16)
