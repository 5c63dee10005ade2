#include "generated/attributes/split.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class Split final : public OperatorOf<SplitAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(x, from);
    const auto* place = static_cast<const uint8_t*>(x.raw);
    for (int i = 0; i < output_count(); ++i) {
      Tensor& y = output(i);
      LogicalStrides(y, to);
      StridedCopy copy(x.element_size());
      for (int axis = 0; axis < y.dims.rank; ++axis)
        copy.AddAxis(y.dims[axis], from[axis], to[axis]);
      copy.Run(place, y.raw, pool);
      place +=
          static_cast<size_t>(y.dims[axis_]) * static_cast<size_t>(from[axis_]) * x.element_size();
    }
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    const IntList& sizes = attributes().sizes;
    axis_ = dims.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, dims.rank);
    TRIMTAB_CHECK(sizes.size == static_cast<uint32_t>(output_count()),
                  "one size per output is needed (sizes, outputs)", sizes.size, output_count());
    int64_t rest = dims[axis_];
    for (int i = 0; i < output_count(); ++i) {
      const int64_t size = sizes[static_cast<size_t>(i)];
      TRIMTAB_CHECK(size >= 0 && size <= rest, "a part exceeds the axis (part, size)", i, size);
      rest -= size;
      output(i).dims = dims;
      output(i).dims[axis_] = static_cast<int32_t>(size);
    }
    TRIMTAB_CHECK(rest == 0, "the parts do not cover the axis (elements left)", rest);
    return Status();
  }

 private:
  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Split)
