#include "generated/attributes/arg_max.h"

#include "runtime/core/operator.h"

namespace trimtab {
namespace {

class ArgMax final : public OperatorOf<ArgMaxAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const auto length = static_cast<size_t>(x.dims[axis_]);
    const auto inner = static_cast<size_t>(x.dims.Count(axis_ + 1, x.dims.rank));
    const auto outer = static_cast<size_t>(x.dims.Count(0, axis_));
    const auto* from = static_cast<const float*>(x.raw);
    auto* to = static_cast<int64_t*>(output().raw);
    // Searches kAtOnce neighboring outputs together, because their inputs are contiguous; the
    // inputs of one output may be far apart.
    const size_t blocks = (inner + kAtOnce - 1) / kAtOnce;
    pool.For(outer * blocks, length * kAtOnce, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i % blocks * kAtOnce;
        const size_t n = inner - first < kAtOnce ? inner - first : kAtOnce;
        const size_t row = i / blocks;
        const float* x_row = from + row * length * inner + first;
        int64_t* y_row = to + row * inner + first;
        if (n == kAtOnce) {
          Search<true>(x_row, length, inner, n, y_row);
        } else {
          Search<false>(x_row, length, inner, n, y_row);
        }
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    axis_ = dims.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0 && dims[axis_] > 0, "axis is invalid or empty (axis, rank)",
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
  static constexpr size_t kAtOnce = 64;  // neighboring outputs, in local arrays

  // to[i] = arg max over j < length of x[j * stride + i], for i < n. kFull: n is kAtOnce, so that
  // every compiler vectorizes the loops.
  template <bool kFull>
  void Search(const float* x, size_t length, size_t stride, size_t part, int64_t* to) const {
    const size_t n = kFull ? kAtOnce : part;
    float best[kAtOnce];
    int32_t at[kAtOnce];
    for (size_t i = 0; i < n; ++i) {
      best[i] = x[i];
      at[i] = 0;
    }
    const int last = attributes().select_last_index;
    for (size_t j = 1; j < length; ++j) {
      const float* row = x + j * stride;
      const auto index = static_cast<int32_t>(j);
      for (size_t i = 0; i < n; ++i) {
        const bool wins = (static_cast<int>(row[i] > best[i]) |
                           (static_cast<int>(row[i] == best[i]) & last)) != 0;
        best[i] = wins ? row[i] : best[i];
        at[i] = wins ? index : at[i];
      }
    }
    for (size_t i = 0; i < n; ++i) to[i] = at[i];
  }

  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ArgMax)
