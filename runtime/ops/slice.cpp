#include "generated/attributes/slice.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

class Slice final : public OperatorOf<SliceAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(x, from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    ptrdiff_t start = 0;
    for (int i = 0; i < y.dims.rank; ++i) {
      copy.AddAxis(y.dims[i], from[i] * step_[i], to[i]);
      start += from[i] * start_[i];
    }
    const auto size = static_cast<ptrdiff_t>(y.element_size());
    copy.Run(static_cast<const uint8_t*>(x.raw) + start * size, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    const SliceAttributes& a = attributes();
    TRIMTAB_CHECK(a.starts.size == a.axes.size && a.ends.size == a.axes.size &&
                      (a.steps.size == 0 || a.steps.size == a.axes.size),
                  "starts, ends, axes and steps differ in length (axes)", a.axes.size);
    for (int i = 0; i < Dims::kMaxRank; ++i) {
      start_[i] = 0;
      step_[i] = 1;
    }
    output().dims = dims;
    unsigned seen = 0;
    for (uint32_t i = 0; i < a.axes.size; ++i) {
      const int axis = dims.Axis(a.axes[i]);
      TRIMTAB_CHECK(axis >= 0 && (seen >> axis & 1) == 0, "axis is out of range or repeated (axis)",
                    a.axes[i]);
      seen |= 1u << axis;
      const int64_t n = dims[axis];
      // No dimension is longer than INT32_MAX, so longer steps are equivalent and cannot overflow.
      const int64_t step = a.steps.size == 0 ? 1 : Clamp(a.steps[i], -INT32_MAX, INT32_MAX);
      TRIMTAB_CHECK(step != 0, "step is 0 (axis)", axis);
      const int64_t start = a.starts[i] < 0 ? a.starts[i] + n : a.starts[i];
      const int64_t end = a.ends[i] < 0 ? a.ends[i] + n : a.ends[i];
      int64_t count = 0;
      if (n > 0 && step > 0) {
        start_[axis] = static_cast<int32_t>(Clamp(start, 0, n));
        count = (Clamp(end, 0, n) - start_[axis] + step - 1) / step;
      } else if (n > 0) {
        start_[axis] = static_cast<int32_t>(Clamp(start, 0, n - 1));
        count = (start_[axis] - Clamp(end, -1, n - 1) - step - 1) / -step;
      }
      step_[axis] = static_cast<int32_t>(step);
      output().dims[axis] = static_cast<int32_t>(count > 0 ? count : 0);
    }
    return Status();
  }

 private:
  int32_t start_[Dims::kMaxRank] = {};
  int32_t step_[Dims::kMaxRank] = {};
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Slice)
