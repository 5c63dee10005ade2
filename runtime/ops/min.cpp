#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

template <typename T>
class Min final : public Binary<T, MinAttributes, NameHash("min")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Min, float, F32)
TRIMTAB_TYPED_OPERATOR(Min, Half, F16)
