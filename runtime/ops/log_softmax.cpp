#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

class LogSoftmax final : public SoftmaxOf<float, LogSoftmaxAttributes, NameHash("log_softmax")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LogSoftmax)
