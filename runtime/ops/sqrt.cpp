#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Sqrt final : public Unary<T, SqrtAttributes, NameHash("sqrt")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Sqrt, float, F32)
TRIMTAB_TYPED_OPERATOR(Sqrt, Half, F16)
