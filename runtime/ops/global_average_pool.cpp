#include "generated/attributes/global_average_pool.h"

#include "runtime/core/operator.h"
#include "runtime/ops/global_pool.h"

namespace trimtab {
namespace {

template <typename T>
class GlobalAveragePool final : public OperatorOf<GlobalAveragePoolAttributes> {
 public:
  Status InferShape() override { return GlobalPool<T>::InferShape(input(0), &output().dims); }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(
        pool_.template Prepare<NameHash("average_pool")>(attributes().kernel, input(0), threads()));
    return RequestScratch(pool_.scratch_bytes());
  }

  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    // The mean of the rows' means: a sum would leave the range of f16.
    pool_.Run(x, 1.0f / static_cast<float>(x.w()), 1.0f / static_cast<float>(x.h()),
              scratch<void>(), &output(), pool);
  }

 private:
  GlobalPool<T> pool_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(GlobalAveragePool, float, F32)
TRIMTAB_TYPED_OPERATOR(GlobalAveragePool, Half, F16)
