#include "generated/attributes/lstm.h"

#include <math.h>

#include "runtime/core/copy.h"
#include "runtime/core/memory_plan.h"
#include "runtime/ops/recurrent.h"

namespace trimtab {
namespace {

float Clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// Writes the values of x that 8 bits hold, with a scale and a zero point of their range.
void RoundToBytes(const float* x, size_t count, float* y) {
  constexpr float kLast = 255.0f;
  float low = 0, high = 0;
  for (size_t i = 0; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float scale = low < high ? (high - low) / kLast : 1.0f;
  const float zero = rintf(Clamp(-low / scale, 0, kLast));
  for (size_t i = 0; i < count; ++i)
    y[i] = (Clamp(rintf(x[i] / scale) + zero, 0, kLast) - zero) * scale;
}

class Lstm final : public OperatorOf<LstmAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  // One row of a step: gates [4 * size] become the states h and c.
  void Update(float* gates, float* c, float* h) const;

  size_t size() const { return static_cast<size_t>(input(2).dims[1]); }
  // Scratch memory of the gates of a step, and of the rounded h.
  uint64_t gate_bytes() const {
    return Aligned(static_cast<uint64_t>(output(1).Count()) * 4 * sizeof(float));
  }
  uint64_t rounded_bytes() const {
    if (!attributes().round_state) return 0;
    return Aligned(static_cast<uint64_t>(output(1).Count()) * sizeof(float));
  }

  StateProduct product_;
  Kernel<UnaryArgs<float>> sigmoid_ = nullptr, tanh_ = nullptr;
};

Status Lstm::InferShape() {
  TRIMTAB_RETURN_IF_ERROR(CheckSequence(input(0), input(2), input(1), 4, 4));
  TRIMTAB_CHECK(input(3).dims == input(2).dims, "h and c differ in shape");
  TRIMTAB_CHECK(!has_input(4) || input(4).Count() == 3 * input(2).dims[1],
                "the peepholes do not fit the state (size)", input(2).dims[1]);
  output(0).dims = SequenceDims(input(0), input(2));
  output(1).dims = input(2).dims;
  return Status();
}

Status Lstm::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("sigmoid")>(attributes().sigmoid_kernel, &sigmoid_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("tanh")>(attributes().tanh_kernel, &tanh_));
  TRIMTAB_RETURN_IF_ERROR(product_.Bind(ProductPlan(attributes()), input(1), nullptr, threads()));
  return RequestScratch(gate_bytes() + rounded_bytes() + product_.scratch_bytes());
}

void Lstm::Update(float* gates, float* c, float* h) const {
  const size_t n = size();
  float *const i = gates, *const o = gates + n, *const f = o + n, *const g = f + n;
  const float* const p = optional_data<float>(4);
  for (size_t j = 0; p != nullptr && j < n; ++j) {
    i[j] += p[j] * c[j];
    f[j] += p[2 * n + j] * c[j];
  }
  sigmoid_({i, i, n, 0, 0});
  sigmoid_({f, f, n, 0, 0});
  tanh_({g, g, n, 0, 0});
  for (size_t j = 0; j < n; ++j) c[j] = f[j] * c[j] + i[j] * g[j];
  for (size_t j = 0; p != nullptr && j < n; ++j) o[j] += p[n + j] * c[j];
  sigmoid_({o, o, n, 0, 0});
  tanh_({c, h, n, 0, 0});
  for (size_t j = 0; j < n; ++j) h[j] *= o[j];
}

void Lstm::Run(ThreadPool& pool) {
  const size_t n = size(), rows = static_cast<size_t>(input(2).dims[0]);
  const Steps steps{static_cast<size_t>(input(0).dims[0]), attributes().reverse};
  float* const gates = scratch<float>();
  float* const rounded = scratch<float>(static_cast<size_t>(gate_bytes()));
  void* const memory = scratch<void>(static_cast<size_t>(gate_bytes() + rounded_bytes()));
  float* const c = result<float>(1);
  const float* state = data<float>(2);
  Copy(c, data<float>(3), rows * n * sizeof(float));
  for (size_t i = 0; i < steps.count; ++i) {
    const size_t step = steps.at(i);
    float* const y = result<float>() + step * rows * n;
    if (attributes().round_state) {
      RoundToBytes(state, rows * n, rounded);
      state = rounded;
    }
    product_.Run(state, rows, data<float>(0) + step * rows * 4 * n, 4 * n, gates, 4 * n, memory,
                 pool);
    for (size_t row = 0; row < rows; ++row) Update(gates + row * 4 * n, c + row * n, y + row * n);
    state = y;
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Lstm)
