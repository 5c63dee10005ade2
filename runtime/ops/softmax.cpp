#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

template <typename T>
class Softmax final : public SoftmaxOf<T, SoftmaxAttributes, NameHash("softmax")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Softmax, float, F32)
TRIMTAB_TYPED_OPERATOR(Softmax, Half, F16)
