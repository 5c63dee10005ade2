#include "generated/attributes.h"
#include "runtime/ops/reduce.h"

namespace trimtab {
namespace {

class ReduceMax final : public ReduceOf<ReduceMaxAttributes, Reduction::kMax> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ReduceMax)
