#include "generated/attributes/adam_update.h"

#include "runtime/ops/update.h"

namespace trimtab {
namespace {

class AdamUpdate final : public UpdateOperator<AdamUpdateAttributes> {
 protected:
  Status Prepare() override { return Bind<NameHash("adam_update")>(attributes().kernel, &kernel_); }

  void SetUp(UpdateArgs<float>* args) const override {
    args->momentum2 = attributes().momentum2;
    args->delta = attributes().delta;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(AdamUpdate)
