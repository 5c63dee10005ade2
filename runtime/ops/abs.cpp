#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Abs final : public Unary<T, AbsAttributes, NameHash("abs")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Abs, float, F32)
TRIMTAB_TYPED_OPERATOR(Abs, Half, F16)
