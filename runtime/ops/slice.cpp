#include "generated/attributes/slice.h"

#include "runtime/core/strided_copy.h"
#include "runtime/ops/integer_element.h"
#include "runtime/ops/sizes.h"

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
    if constexpr (HasSizeSource<SliceAttributes>(SizeSource::kTensor)) {
      if (source() == SizeSource::kTensor && !SetComputed()) return;
    }
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
    TRIMTAB_CHECK(HasBounds() && (a.steps.size == 0 || a.steps.size == a.axes.size),
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
      step_[axis] = static_cast<int32_t>(step);
      if (source() == SizeSource::kTensor) continue;
      int32_t range[2];
      const bool has_terms = source() == SizeSource::kTerms;
      if (has_terms) TRIMTAB_RETURN_IF_ERROR(ComputeRange(i, n, range));
      const int64_t first = has_terms ? range[0] : a.starts[i];
      const int64_t end = has_terms ? int64_t{range[0]} + range[1] : a.ends[i];
      output().dims[axis] = SetBounds(axis, n, step, first, end);
    }
    return Status();
  }

 private:
  SizeSource source() const {
    return SizeSourceOf<SliceAttributes>(has_input(1) && has_input(2), has_input(3));
  }

  // True if there are as many bounds as axes.
  bool HasBounds() const {
    const SliceAttributes& a = attributes();
    if (source() == SizeSource::kTensor) {
      const auto count = static_cast<int64_t>(a.axes.size);
      return input(1).Count() == count && input(2).Count() == count;
    }
    const uint32_t numbers = source() == SizeSource::kTerms ? kTermNumbers : 1;
    return a.starts.size == a.axes.size * numbers && a.ends.size == a.axes.size * numbers;
  }

  // Sets the first of `n` elements along an axis, and returns the number of those to take. As in
  // ONNX, negative bounds count from the end.
  int32_t SetBounds(int axis, int64_t n, int64_t step, int64_t first, int64_t last) {
    const int64_t start = first < 0 ? first + n : first;
    const int64_t end = last < 0 ? last + n : last;
    int64_t count = 0;
    if (n > 0 && step > 0) {
      start_[axis] = static_cast<int32_t>(Clamp(start, 0, n));
      count = (Clamp(end, 0, n) - start_[axis] + step - 1) / step;
    } else if (n > 0) {
      start_[axis] = static_cast<int32_t>(Clamp(start, 0, n - 1));
      count = (start_[axis] - Clamp(end, -1, n - 1) - step - 1) / -step;
    }
    return static_cast<int32_t>(count > 0 ? count : 0);
  }

  // Sets the bounds that a run has computed. False if no elements remain.
  bool SetComputed() {
    const Dims& x = input(0).dims;
    Dims& y = output().dims;
    for (uint32_t i = 0; i < attributes().axes.size; ++i) {
      const int axis = x.Axis(attributes().axes[i]);
      const int64_t first = IntegerElement(input(1), i), end = IntegerElement(input(2), i);
      y[axis] = SetBounds(axis, x[axis], step_[axis], first, end);
    }
    return y.Count() > 0;
  }

  // The first index and the length of the terms for an axis of `n` elements. `index`: its place in
  // the attributes.
  Status ComputeRange(uint32_t index, int64_t n, int32_t* range) const {
    const IntList* const lists[2] = {&attributes().starts, &attributes().ends};
    for (int i = 0; i < 2; ++i) {
      IntList term;
      term.data = lists[i]->data + size_t{index} * kTermNumbers;
      term.size = kTermNumbers;
      TRIMTAB_RETURN_IF_ERROR(ComputeTerms(term, input(3).dims, 1, &range[i]));
    }
    const int64_t end = int64_t{range[0]} + range[1];
    TRIMTAB_CHECK(range[0] >= 0 && range[1] >= 0 && end <= n,
                  "a dimension is too short (elements, needed)", n, end);
    return Status();
  }

  int32_t start_[Dims::kMaxRank] = {};
  int32_t step_[Dims::kMaxRank] = {};
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Slice)
