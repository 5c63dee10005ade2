#include "generated/attributes.h"
#include "runtime/ops/softmax_rows.h"

namespace trimtab {
namespace {

class Softmax final : public SoftmaxOf<SoftmaxAttributes, FamilyHash("softmax_f32")> {};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Softmax)
