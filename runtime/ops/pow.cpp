#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Pow final : public Binary<T, PowAttributes, NameHash("pow")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Pow, float, F32)
TRIMTAB_TYPED_OPERATOR(Pow, Half, F16)
