#include "generated/attributes/gru.h"

#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/recurrent.h"

namespace trimtab {
namespace {

class Gru final : public OperatorOf<GruAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  size_t size() const { return static_cast<size_t>(input(4).dims[1]); }

  StateProduct gates_, candidate_;
  Kernel<UnaryArgs<float>> sigmoid_ = nullptr, tanh_ = nullptr;
};

Status Gru::InferShape() {
  TRIMTAB_RETURN_IF_ERROR(CheckSequence(input(0), input(4), input(1), 3, 2));
  TRIMTAB_RETURN_IF_ERROR(CheckSequence(input(0), input(4), input(2), 3, 1));
  TRIMTAB_CHECK(input(3).Count() == input(4).dims[1], "the bias does not fit the state (size)",
                input(4).dims[1]);
  output().dims = SequenceDims(input(0), input(4));
  return Status();
}

Status Gru::Prepare() {
  const ProductPlan plan(attributes());
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("sigmoid")>(attributes().sigmoid_kernel, &sigmoid_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("tanh")>(attributes().tanh_kernel, &tanh_));
  TRIMTAB_RETURN_IF_ERROR(gates_.Bind(plan, input(1), nullptr, threads()));
  TRIMTAB_RETURN_IF_ERROR(candidate_.Bind(plan, input(2), &input(3), threads()));
  const uint64_t row = static_cast<uint64_t>(input(4).Count()) * sizeof(float);
  const uint64_t gates = gates_.scratch_bytes(), candidate = candidate_.scratch_bytes();
  return RequestScratch(Aligned(4 * row) + (gates < candidate ? candidate : gates));
}

void Gru::Run(ThreadPool& pool) {
  const size_t n = size(), rows = static_cast<size_t>(input(4).dims[0]), count = rows * n;
  const Steps steps{static_cast<size_t>(input(0).dims[0]), attributes().reverse};
  const bool after = attributes().linear_before_reset;
  float* const gates = scratch<float>();  // [rows, 2 * n]: z, r
  float *const reset = gates + 2 * count, *const candidate = reset + count;
  void* const memory = scratch<void>(static_cast<size_t>(Aligned(4 * count * sizeof(float))));
  const float* state = data<float>(4);
  for (size_t i = 0; i < steps.count; ++i) {
    const size_t step = steps.at(i);
    const float* const x = data<float>(0) + step * 3 * count;
    float* const y = result<float>() + step * count;
    gates_.Run(state, rows, x, 3 * n, gates, 2 * n, memory, pool);
    sigmoid_({gates, gates, 2 * count, 0, 0});
    if (after) {
      candidate_.Run(state, rows, nullptr, 0, candidate, n, memory, pool);
    } else {
      for (size_t j = 0; j < count; ++j) reset[j] = gates[j / n * 2 * n + n + j % n] * state[j];
      candidate_.Run(reset, rows, x + 2 * n, 3 * n, candidate, n, memory, pool);
    }
    for (size_t row = 0; row < rows && after; ++row) {
      const float* const r = gates + row * 2 * n + n;
      for (size_t j = 0; j < n; ++j)
        candidate[row * n + j] = r[j] * candidate[row * n + j] + x[row * 3 * n + 2 * n + j];
    }
    tanh_({candidate, candidate, count, 0, 0});
    for (size_t row = 0; row < rows; ++row) {
      const float* const z = gates + row * 2 * n;
      for (size_t j = 0, at = row * n; j < n; ++j, ++at)
        y[at] = (1.0f - z[j]) * candidate[at] + z[j] * state[at];
    }
    state = y;
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gru)
