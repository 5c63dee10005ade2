#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

class Clip final : public Unary<ClipAttributes, FamilyHash("clip_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Clip)
