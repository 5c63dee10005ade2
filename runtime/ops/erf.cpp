#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Erf final : public Unary<T, ErfAttributes, NameHash("erf")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Erf, float, F32)
TRIMTAB_TYPED_OPERATOR(Erf, Half, F16)
