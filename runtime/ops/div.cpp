#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Div final : public Binary<T, DivAttributes, NameHash("div")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Div, float, F32)
TRIMTAB_TYPED_OPERATOR(Div, Half, F16)
