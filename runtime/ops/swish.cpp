#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Swish final : public Unary<T, SwishAttributes, NameHash("swish")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Swish, float, F32)
TRIMTAB_TYPED_OPERATOR(Swish, Half, F16)
