#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class LeakyRelu final : public Unary<T, LeakyReluAttributes, NameHash("leaky_relu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(LeakyRelu, float, F32)
TRIMTAB_TYPED_OPERATOR(LeakyRelu, Half, F16)
