#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Log final : public Unary<float, LogAttributes, NameHash("log")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Log)
