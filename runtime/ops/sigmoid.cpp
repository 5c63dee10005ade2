#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Sigmoid final : public Unary<T, SigmoidAttributes, NameHash("sigmoid")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Sigmoid, float, F32)
TRIMTAB_TYPED_OPERATOR(Sigmoid, Half, F16)
