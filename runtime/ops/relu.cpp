#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

// Clip to [0, inf): relu has no kernel of its own.
class Relu final : public UnaryOperator<float> {
  void* AttributeStorage() override { return &attributes_; }

  Status Prepare() override {
    alpha_ = 0.0f;
    beta_ = __builtin_inff();
    return Bind<NameHash("clip")>(attributes_.kernel, &kernel_);
  }

  ReluAttributes attributes_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Relu)
