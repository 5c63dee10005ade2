#include "generated/attributes/arg_max.h"

#include <string.h>

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
    if (inner == 1) {
      pool.For(outer, length, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) to[row] = SearchRow(from + row * length, length);
      });
      return;
    }
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
        if (attributes().select_last_index) {
          SearchLast(x_row, length, inner, n, y_row);
        } else {
          SearchFirst(x_row, length, inner, n, y_row);
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

  Status Prepare() override { return Bind<NameHash("arg_max")>(attributes().kernel, &kernel_); }

 private:
  static constexpr size_t kPartial = 16;  // maxima of a row, which vectorize
  static constexpr size_t kAtOnce = 256;  // neighboring outputs, in local arrays

  // to[i] = arg max over j < length of x[j * stride + i], for i < n: the last of equal values.
  static void SearchLast(const float* x, size_t length, size_t stride, size_t n, int64_t* to) {
    for (size_t i = 0; i < n; ++i) {
      size_t at = 0;
      for (size_t j = 1; j < length; ++j) at = x[j * stride + i] >= x[at * stride + i] ? j : at;
      to[i] = static_cast<int64_t>(at);
    }
  }

  // The same for the first of equal values.
  void SearchFirst(const float* x, size_t length, size_t stride, size_t n, int64_t* to) const {
    float bits[kAtOnce];
    int32_t at[kAtOnce];
    kernel_({x, bits, length, stride, n});
    memcpy(at, bits, n * sizeof(*at));
    for (size_t i = 0; i < n; ++i) to[i] = at[i];
  }

  // arg max of a contiguous row: its maximum, then where that is. NaN is never larger; a first NaN
  // stays, as nothing is larger than it.
  int64_t SearchRow(const float* x, size_t length) const {
    const bool last = attributes().select_last_index != 0;
    if (x[0] != x[0]) return 0;
    size_t i = 0;
    if (length < kPartial) {
      size_t at = 0;
      for (i = 1; i < length; ++i) at = x[i] > x[at] || (last && x[i] == x[at]) ? i : at;
      return static_cast<int64_t>(at);
    }
    float best[kPartial];
    for (float& value : best) value = x[0];
    for (; i + kPartial <= length; i += kPartial) {
      for (size_t j = 0; j < kPartial; ++j) best[j] = x[i + j] > best[j] ? x[i + j] : best[j];
    }
    for (; i < length; ++i) best[0] = x[i] > best[0] ? x[i] : best[0];
    for (size_t j = 1; j < kPartial; ++j) best[0] = best[j] > best[0] ? best[j] : best[0];
    for (i = 0; i + kPartial <= length; i += kPartial) {
      const float* const block = last ? x + length - kPartial - i : x + i;
      int equal = 0;
      for (size_t j = 0; j < kPartial; ++j) equal |= static_cast<int>(block[j] == best[0]);
      if (equal != 0) break;
    }
    for (;; ++i) {
      const size_t at = last ? length - 1 - i : i;
      if (x[at] == best[0]) return static_cast<int64_t>(at);
    }
  }

  int axis_ = 0;
  Kernel<SoftmaxColumnsArgs<float>> kernel_ = nullptr;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ArgMax)
