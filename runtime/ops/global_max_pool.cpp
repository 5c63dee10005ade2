#include "generated/attributes/global_max_pool.h"

#include "runtime/core/operator.h"
#include "runtime/ops/global_pool.h"

namespace trimtab {
namespace {

template <typename T>
class GlobalMaxPool final : public OperatorOf<GlobalMaxPoolAttributes> {
 public:
  Status InferShape() override { return GlobalPool<T>::InferShape(input(0), &output().dims); }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(
        pool_.template Prepare<NameHash("max_pool")>(attributes().kernel, input(0), threads()));
    return RequestScratch(pool_.scratch_bytes());
  }

  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    pool_.Run(x, 1.0f, 1.0f, scratch<void>(), &output(), pool);
  }

 private:
  GlobalPool<T> pool_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(GlobalMaxPool, float, F32)
TRIMTAB_TYPED_OPERATOR(GlobalMaxPool, Half, F16)
