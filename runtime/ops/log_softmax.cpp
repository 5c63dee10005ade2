#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

template <typename T>
class LogSoftmax final : public SoftmaxOf<T, LogSoftmaxAttributes, NameHash("log_softmax")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(LogSoftmax, float, F32)
TRIMTAB_TYPED_OPERATOR(LogSoftmax, Half, F16)
