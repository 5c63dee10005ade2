#include "generated/attributes/scatter_nd.h"

#include "generated/element_sizes.h"
#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

using Reduction = ScatterNdReduction;

// Unsigned sums and products of integers, because overflow of signed ones is undefined.
inline int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

// Calls body(combine) with the function of two floats or two integers.
template <typename F>
void WithCombiner(Reduction reduction, const F& body) {
  struct Sum {
    float operator()(float a, float b) const { return a + b; }
    int64_t operator()(int64_t a, int64_t b) const {
      return Wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
  };
  struct Product {
    float operator()(float a, float b) const { return a * b; }
    int64_t operator()(int64_t a, int64_t b) const {
      return Wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
  };
  switch (reduction) {
    case Reduction::kAdd:
      return body(Sum());
    case Reduction::kMul:
      return body(Product());
    case Reduction::kMax:
      return body([](auto a, auto b) { return a < b ? b : a; });
    default:
      return body([](auto a, auto b) { return b < a ? b : a; });
  }
}

class ScatterNd final : public OperatorOf<ScatterNdAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor &x = input(0), &indices = input(1);
    if (output().raw != x.raw) Copy(output().raw, x.raw, x.CountBytes());
    if (attributes().by_element) return ScatterElements();
    const auto rows = static_cast<size_t>(indices.dims.Count(0, indices.dims.rank - 1));
    const auto run = static_cast<size_t>(x.dims.Count(depth_, x.dims.rank));
    // Threads share the elements of slices: updates of one element keep their order.
    pool.For(run, 4 * rows, [&](size_t begin, size_t end, int) {
      for (size_t row = 0; row < rows; ++row) {
        const int64_t slice = Slice(row);
        if (slice < 0) continue;
        Update(static_cast<size_t>(slice) * run + begin, row * run + begin, end - begin);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor &x = input(0), &indices = input(1), &updates = input(2);
    TRIMTAB_CHECK(updates.dtype == x.dtype, "updates must be of the type of x (type)",
                  static_cast<int64_t>(updates.dtype));
    output().dims = x.dims;
    return attributes().by_element ? CheckElements(x.dims, indices.dims, updates.dims)
                                   : CheckSlices(x.dims, indices.dims, updates.dims);
  }

 private:
  Status CheckSlices(const Dims& x, const Dims& indices, const Dims& updates) {
    depth_ = indices.rank > 0 ? indices[indices.rank - 1] : 0;
    TRIMTAB_CHECK(depth_ >= 1 && depth_ <= x.rank,
                  "indices must be [..., k] for k dimensions of x (k, rank)", depth_, x.rank);
    TRIMTAB_CHECK(indices.rank - 1 + x.rank - depth_ <= Dims::kMaxRank, "too many dimensions",
                  indices.rank);
    Dims expected;
    for (int i = 0; i < indices.rank - 1; ++i) expected[expected.rank++] = indices[i];
    for (int i = depth_; i < x.rank; ++i) expected[expected.rank++] = x[i];
    TRIMTAB_CHECK(updates == expected, "updates do not fit the indices (rank)", updates.rank);
    return Status();
  }

  Status CheckElements(const Dims& x, const Dims& indices, const Dims& updates) {
    const int axis = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
    TRIMTAB_CHECK(indices == updates && indices.rank == x.rank,
                  "each index must have an update (rank)", indices.rank);
    for (int i = 0; i < x.rank; ++i) {
      TRIMTAB_CHECK(i == axis || indices[i] <= x[i],
                    "there are more indices than elements (dimension)", i);
    }
    return Status();
  }

  // Index `i` along an axis of `length` elements; negative if it is out of range.
  int64_t Index(size_t i, int64_t length) const {
    const int64_t index = IntegerElement(input(1), i);
    return index < 0 ? index + length : index < length ? index : -1;
  }

  // The slice of x that row `row` of the indices selects; negative if an index is out of range.
  int64_t Slice(size_t row) const {
    const auto depth = static_cast<size_t>(depth_);
    int64_t slice = 0;
    for (size_t i = 0; i < depth; ++i) {
      const int64_t length = input(0).dims[static_cast<int>(i)];
      const int64_t index = Index(row * depth + i, length);
      if (index < 0) return index;
      slice = slice * length + index;
    }
    return slice;
  }

  void ScatterElements() const {
    const Dims &x = input(0).dims, &indices = input(1).dims;
    const int axis = x.Axis(attributes().axis);
    const auto count = static_cast<size_t>(indices.Count());
    int32_t at[Dims::kMaxRank] = {};
    for (size_t i = 0; i < count; ++i) {
      const int64_t index = Index(i, x[axis]);
      if (index >= 0) {
        int64_t offset = 0;
        for (int k = 0; k < x.rank; ++k) offset = offset * x[k] + (k == axis ? index : at[k]);
        Update(static_cast<size_t>(offset), i, 1);
      }
      for (int k = x.rank - 1; k >= 0 && ++at[k] == indices[k]; --k) at[k] = 0;
    }
  }

  // Replaces `count` elements of y from `to` on by those of the updates from `from` on, or combines
  // them.
  __attribute__((noinline)) void Update(size_t to, size_t from, size_t count) const {
    const Tensor &y = output(), &updates = input(2);
    const size_t bytes = y.element_size();
    auto* const elements = static_cast<uint8_t*>(y.raw) + to * bytes;
    const Reduction reduction = attributes().reduction;
    if (reduction == Reduction::kNone) {
      const auto* const replacing = static_cast<const uint8_t*>(updates.raw) + from * bytes;
      if (count == 1) return CopyElement(elements, replacing, bytes);
      return Copy(elements, replacing, count * bytes);
    }
    if (y.dtype == DType::kF32) {
      return WithCombiner(reduction, [&](auto combine) {
        float* const __restrict sums = static_cast<float*>(y.raw) + to;
        const float* const __restrict terms = updates.data<float>() + from;
        for (size_t i = 0; i < count; ++i) sums[i] = combine(sums[i], terms[i]);
      });
    }
    for (size_t i = 0; i < count; ++i) {
      WithCombiner(reduction, [&](auto combine) {
        if constexpr (kHasElementsOfTwoBytes) {
          if (y.dtype == DType::kF16) {
            Half& half = static_cast<Half*>(y.raw)[to + i];
            half = combine(static_cast<float>(half),
                           static_cast<float>(updates.data<Half>()[from + i]));
            return;
          }
        }
        // Little-endian: the low bytes come first, so that the result wraps around.
        const int64_t value = combine(IntegerElement(y, to + i), IntegerElement(updates, from + i));
        CopyElement(elements + i * bytes, &value, bytes);
      });
    }
  }

  int depth_ = 0;  // dimensions of x that have an index
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ScatterNd)
