#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Clip final : public Unary<float, ClipAttributes, NameHash("clip")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Clip)
