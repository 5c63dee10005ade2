#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

template <typename T>
class Log final : public Unary<T, LogAttributes, NameHash("log")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Log, float, F32)
TRIMTAB_TYPED_OPERATOR(Log, Half, F16)
