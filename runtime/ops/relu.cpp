#include "generated/attributes.h"
#include "runtime/ops/unary.h"

namespace trimtab {
namespace {

// Clip to [0, inf): relu has no kernel of its own.
template <typename T>
class Relu final : public UnaryOperator<T> {
  void* AttributeStorage() override { return &attributes_; }

  Status Prepare() override {
    this->alpha_ = 0.0f;
    this->beta_ = __builtin_inff();
    return Bind<NameHash("clip")>(attributes_.kernel, &this->kernel_);
  }

  ReluAttributes attributes_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Relu, float, F32)
TRIMTAB_TYPED_OPERATOR(Relu, Half, F16)
