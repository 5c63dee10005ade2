#include "generated/attributes.h"
#include "runtime/ops/reduce.h"

namespace trimtab {
namespace {

class ReduceMean final : public ReduceOf<ReduceMeanAttributes, Reduction::kMean> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ReduceMean)
