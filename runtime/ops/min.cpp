#include "generated/attributes.h"
#include "runtime/ops/binary.h"

namespace trimtab {
namespace {

class Min final : public Binary<float, MinAttributes, NameHash("min")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Min)
