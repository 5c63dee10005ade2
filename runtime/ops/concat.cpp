#include "generated/attributes/concat.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class Concat final : public OperatorOf<ConcatAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(y, to);
    auto* place = static_cast<uint8_t*>(y.raw);
    for (int i = 0; i < input_count(); ++i) {
      const Tensor& x = input(i);
      LogicalStrides(x, from);
      StridedCopy copy(y.element_size());
      for (int axis = 0; axis < x.dims.rank; ++axis)
        copy.AddAxis(x.dims[axis], from[axis], to[axis]);
      copy.Run(x.raw, place, pool);
      place +=
          static_cast<size_t>(x.dims[axis_]) * static_cast<size_t>(to[axis_]) * y.element_size();
    }
  }

 protected:
  Status InferShape() override {
    const Tensor& first = input(0);
    axis_ = first.dims.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis,
                  first.dims.rank);
    int64_t length = 0;
    for (int i = 0; i < input_count(); ++i) {
      TRIMTAB_CHECK(has_input(i), "an input is absent (its index)", i);
      Dims rest = input(i).dims;
      TRIMTAB_CHECK(rest.rank == first.dims.rank, "inputs differ in rank (input)", i);
      length += rest[axis_];
      rest[axis_] = first.dims[axis_];
      TRIMTAB_CHECK(rest == first.dims && input(i).dtype == first.dtype,
                    "inputs differ in more than the axis (input)", i);
    }
    TRIMTAB_CHECK(length <= INT32_MAX, "the result is too large", length);
    output().dims = first.dims;
    output().dims[axis_] = static_cast<int32_t>(length);
    return Status();
  }

 private:
  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Concat)
