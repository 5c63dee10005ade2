#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Pow final : public Binary<float, PowAttributes, NameHash("pow")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Pow)
