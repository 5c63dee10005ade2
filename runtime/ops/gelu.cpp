#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Gelu final : public Unary<float, GeluAttributes, NameHash("gelu")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gelu)
