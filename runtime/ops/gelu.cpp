#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Gelu final : public Unary<T, GeluAttributes, NameHash("gelu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Gelu, float, F32)
TRIMTAB_TYPED_OPERATOR(Gelu, Half, F16)
