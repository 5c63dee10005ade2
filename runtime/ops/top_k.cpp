#include "generated/attributes/top_k.h"

#include "runtime/ops/top_k.h"

namespace trimtab {
namespace {

class TopK final : public BestElements<TopK, TopKAttributes> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(TopK)
