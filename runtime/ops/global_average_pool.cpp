#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/global_pool.h"

namespace trimtab {
namespace {

class GlobalAveragePool final : public OperatorOf<GlobalAveragePoolAttributes> {
 public:
  Status InferShape() override { return GlobalPool<float>::InferShape(input(0), &output().dims); }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(
        pool_.Prepare<NameHash("average_pool")>(attributes().kernel, input(0), threads()));
    return RequestScratch(pool_.scratch_bytes());
  }

  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    pool_.Run(x, 1.0f, 1.0f / static_cast<float>(x.h() * x.w()), scratch<void>(), &output(), pool);
  }

 private:
  GlobalPool<float> pool_;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(GlobalAveragePool)
