#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

class Softmax final : public SoftmaxOf<float, SoftmaxAttributes, NameHash("softmax")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Softmax)
