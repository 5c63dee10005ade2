#include "generated/attributes/layer_normalization.h"

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"

namespace trimtab {
namespace {

template <typename T>
class LayerNormalization final : public OperatorOf<LayerNormalizationAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override {
    return Bind<NameHash("normalize")>(attributes().kernel, &normalize_);
  }
  void Run(ThreadPool& pool) override;

 private:
  size_t inner_ = 1;  // elements that are normalized together
  Kernel<NormalizeArgs<T>> normalize_ = nullptr;
};

template <typename T>
Status LayerNormalization<T>::InferShape() {
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

template <typename T>
void LayerNormalization<T>::Run(ThreadPool& pool) {
  const size_t n = inner_, rows = static_cast<size_t>(input(0).Count()) / n;
  pool.For(rows, 3 * n, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      normalize_({data<T>(0) + row * n, data<T>(1), optional_data<T>(2), result<T>() + row * n, n,
                  attributes().epsilon, 1});
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(LayerNormalization, float, F32)
TRIMTAB_TYPED_OPERATOR(LayerNormalization, Half, F16)
