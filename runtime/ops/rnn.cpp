#include "generated/attributes/rnn.h"

#include "runtime/ops/recurrent.h"

namespace trimtab {
namespace {

class Rnn final : public OperatorOf<RnnAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  StateProduct product_;
  Kernel<UnaryArgs<float>> tanh_ = nullptr;
};

Status Rnn::InferShape() {
  TRIMTAB_RETURN_IF_ERROR(CheckSequence(input(0), input(2), input(1), 1, 1));
  output().dims = SequenceDims(input(0), input(2));
  return Status();
}

Status Rnn::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("tanh")>(attributes().tanh_kernel, &tanh_));
  TRIMTAB_RETURN_IF_ERROR(product_.Bind(ProductPlan(attributes()), input(1), nullptr, threads()));
  return RequestScratch(product_.scratch_bytes());
}

void Rnn::Run(ThreadPool& pool) {
  const auto n = static_cast<size_t>(input(2).dims[1]),
             rows = static_cast<size_t>(input(2).dims[0]);
  const Steps steps{static_cast<size_t>(input(0).dims[0]), attributes().reverse};
  const float* state = data<float>(2);
  for (size_t i = 0; i < steps.count; ++i) {
    const size_t first = steps.at(i) * rows * n;
    float* const y = result<float>() + first;
    product_.Run(state, rows, data<float>(0) + first, n, y, n, scratch<void>(), pool);
    if (!attributes().relu) tanh_({y, y, rows * n, 0, 0});
    // A NaN stays one.
    for (size_t j = 0; j < rows * n && attributes().relu; ++j) y[j] = y[j] < 0 ? 0 : y[j];
    state = y;
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Rnn)
