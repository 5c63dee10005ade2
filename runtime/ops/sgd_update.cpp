#include "generated/attributes/sgd_update.h"

#include "runtime/ops/update.h"

namespace trimtab {
namespace {

class SgdUpdate final : public UpdateOperator<SgdUpdateAttributes> {
 protected:
  Status Prepare() override { return Bind<NameHash("sgd_update")>(attributes().kernel, &kernel_); }

  void SetUp(UpdateArgs<float>* args) const override {
    args->lookahead = attributes().nesterov ? attributes().momentum : 0.0f;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(SgdUpdate)
