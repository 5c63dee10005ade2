#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Tanh final : public Unary<TanhAttributes, FamilyHash("tanh_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Tanh)
