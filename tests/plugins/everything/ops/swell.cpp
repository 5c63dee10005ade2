#include "generated/plugin_attributes.h"
#include "kernels/generic/swell_args.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class Swell final : public OperatorOf<SwellAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const auto* x = data<float>(0);
    auto* y = result<float>();
    const auto body = [this, x, y](size_t begin, size_t end, int) {
      kernel_({x + begin, y + begin, end - begin, attributes().gain});
    };
    pool.For(static_cast<size_t>(output().dims.Count()), 2, body);
  }

 protected:
  Status InferShape() override {
    output().dims = input(0).dims;
    return Status();
  }

  Status Prepare() override { return Bind<NameHash("swell")>(attributes().kernel, &kernel_); }

 private:
  Kernel<SwellArgs<float>> kernel_ = nullptr;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Swell)
