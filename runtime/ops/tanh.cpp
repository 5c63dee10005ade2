#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Tanh final : public Unary<T, TanhAttributes, NameHash("tanh")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Tanh, float, F32)
TRIMTAB_TYPED_OPERATOR(Tanh, Half, F16)
