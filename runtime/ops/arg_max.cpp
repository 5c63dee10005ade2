#include "generated/attributes.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class ArgMax final : public OperatorOf<ArgMaxAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const auto length = static_cast<size_t>(x.dims[axis_]);
    const auto inner = static_cast<size_t>(x.dims.Count(axis_ + 1, x.dims.rank));
    const auto results = static_cast<size_t>(x.dims.Count(0, axis_)) * inner;
    const auto* from = static_cast<const float*>(x.raw);
    auto* to = static_cast<int64_t*>(output().raw);
    const bool last = attributes().select_last_index;
    pool.For(results, kGrain / length + 1, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const float* row = from + i / inner * inner * length + i % inner;
        size_t best = 0;
        for (size_t j = 1; j < length; ++j) {
          const float value = row[j * inner], champion = row[best * inner];
          if (value > champion || (last && value == champion)) best = j;
        }
        to[i] = static_cast<int64_t>(best);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    axis_ = dims.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0 && dims[axis_] > 0, "axis is outside or empty (axis, rank)",
                  attributes().axis, dims.rank);
    Dims& y = output().dims;
    y.rank = 0;
    for (int i = 0; i < dims.rank; ++i) {
      if (i != axis_) y[y.rank++] = dims[i];
      if (i == axis_ && attributes().keep_dims) y[y.rank++] = 1;
    }
    output().dtype = DType::kI64;
    return Status();
  }

 private:
  static constexpr size_t kGrain = 16384;  // elements per block of the parallel loop

  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ArgMax)
