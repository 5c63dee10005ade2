#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Clip final : public Unary<T, ClipAttributes, NameHash("clip")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Clip, float, F32)
TRIMTAB_TYPED_OPERATOR(Clip, Half, F16)
