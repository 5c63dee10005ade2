#include "generated/attributes/computed_slice.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"
#include "runtime/ops/integer_element.h"

namespace trimtab {
namespace {

int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

class ComputedSlice final : public OperatorOf<ComputedSliceAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank], start = 0;
    LogicalStrides(x, from);
    for (uint32_t i = 0; i < attributes().axes.size; ++i) {
      const int axis = x.dims.Axis(attributes().axes[i]);
      const auto step = static_cast<ptrdiff_t>(attributes().steps[i]);
      const int64_t first = First(i, axis);
      y.dims[axis] = static_cast<int32_t>(Count(i, axis, first));
      start += from[axis] * static_cast<ptrdiff_t>(first);
      from[axis] *= step;
    }
    if (y.Count() <= 0) return;
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    for (int i = 0; i < y.dims.rank; ++i) copy.AddAxis(y.dims[i], from[i], to[i]);
    const auto size = static_cast<ptrdiff_t>(y.element_size());
    copy.Run(static_cast<const uint8_t*>(x.raw) + start * size, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Dims& x = input(0).dims;
    const IntList &axes = attributes().axes, &steps = attributes().steps;
    const auto count = static_cast<int64_t>(axes.size);
    TRIMTAB_CHECK(steps.size == axes.size && input(1).Count() == count && input(2).Count() == count,
                  "starts, ends, axes and steps differ in length (axes)", count);
    unsigned seen = 0;
    for (uint32_t i = 0; i < axes.size; ++i) {
      const int axis = x.Axis(axes[i]);
      TRIMTAB_CHECK(axis >= 0 && (seen >> axis & 1) == 0, "axis is out of range or repeated (axis)",
                    axes[i]);
      seen |= 1u << axis;
      TRIMTAB_CHECK(steps[i] != 0 && steps[i] >= -INT32_MAX && steps[i] <= INT32_MAX,
                    "step is out of range (step)", steps[i]);
    }
    output().dims = x;
    return Status();
  }

 private:
  // A bound along an axis, from the start, within [-1, length].
  int64_t Bound(int i, uint32_t place, int axis) const {
    const int64_t n = input(0).dims[axis], value = IntegerElement(input(i), place);
    const int64_t clamped = Clamp(value, -n - 1, n);
    return clamped < 0 ? clamped + n : clamped;
  }

  int64_t First(uint32_t place, int axis) const {
    const int64_t n = input(0).dims[axis], last = attributes().steps[place] > 0 ? n : n - 1;
    return Clamp(Bound(1, place, axis), 0, last < 0 ? 0 : last);
  }

  int64_t Count(uint32_t place, int axis, int64_t first) const {
    const int64_t n = input(0).dims[axis], step = attributes().steps[place];
    const int64_t end = Bound(2, place, axis);
    const int64_t count = step > 0 ? (Clamp(end, 0, n) - first + step - 1) / step
                                   : (first - Clamp(end, -1, n - 1) - step - 1) / -step;
    return n > 0 && count > 0 ? count : 0;
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ComputedSlice)
