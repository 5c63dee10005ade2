#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

class LogSoftmax final : public SoftmaxOf<LogSoftmaxAttributes, FamilyHash("log_softmax_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LogSoftmax)
