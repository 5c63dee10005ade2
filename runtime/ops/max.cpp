#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Max final : public Binary<float, MaxAttributes, NameHash("max")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Max)
