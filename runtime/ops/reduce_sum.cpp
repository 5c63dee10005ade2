#include "generated/attributes.h"
#include "runtime/ops/reduce.h"

namespace trimtab {
namespace {

class ReduceSum final : public ReduceOf<ReduceSumAttributes, Reduction::kSum> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ReduceSum)
