#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Log final : public Unary<LogAttributes, FamilyHash("log_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Log)
