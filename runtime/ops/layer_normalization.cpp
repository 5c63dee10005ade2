#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

class LayerNormalization final : public OperatorOf<LayerNormalizationAttributes> {
 public:
  Status InferShape() override;
  void Run(ThreadPool& pool) override;

 private:
  size_t inner_ = 1;  // elements that are normalized together
};

Status LayerNormalization::InferShape() {
  const Dims& x = input(0).dims;
  const int axis = x.Axis(attributes().axis);
  TRIMTAB_CHECK(axis >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
  const int64_t inner = x.Count(axis, x.rank);
  TRIMTAB_CHECK(inner >= 1, "nothing to normalize");
  TRIMTAB_CHECK(input(1).Count() == inner,
                "scale does not fit the normalized dimensions (expected)", inner);
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == inner,
                "bias does not fit the normalized dimensions (expected)", inner);
  inner_ = static_cast<size_t>(inner);
  output().dims = x;
  return Status();
}

void LayerNormalization::Run(ThreadPool& pool) {
  const float* const scale = input(1).data<float>();
  const float* const bias = has_input(2) ? input(2).data<float>() : nullptr;
  const size_t n = inner_, rows = static_cast<size_t>(input(0).Count()) / n;
  pool.For(rows, 3 * n, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const float* const x = input(0).data<float>() + row * n;
      float* const y = output().data<float>() + row * n;
      double sum = 0, squares = 0;
      for (size_t i = 0; i < n; ++i) sum += x[i];
      const double mean = sum / static_cast<double>(n);
      for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const float center = static_cast<float>(mean);
      const float factor = static_cast<float>(
          1.0 / __builtin_sqrt(squares / static_cast<double>(n) + attributes().epsilon));
      for (size_t i = 0; i < n; ++i)
        y[i] = (x[i] - center) * factor * scale[i] + (bias == nullptr ? 0.0f : bias[i]);
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(LayerNormalization)
