#include "generated/attributes.h"
#include "runtime/ops/reduce.h"

namespace trimtab {
namespace {

class ReduceMin final : public ReduceOf<ReduceMinAttributes, Reduction::kMin> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ReduceMin)
