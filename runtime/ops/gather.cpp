#include "generated/attributes/gather.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

class Gather final : public OperatorOf<GatherAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const size_t size = x.element_size();
    const auto taken = static_cast<size_t>(input(1).Count());
    const auto outer = static_cast<size_t>(x.dims.Count(0, axis_));
    const size_t run = static_cast<size_t>(x.dims.Count(axis_ + 1, x.dims.rank)) * size;
    const size_t block = static_cast<size_t>(x.dims[axis_]) * run;
    pool.For(outer * taken, run / size, [=](size_t begin, size_t end, int) {
      const Tensor &indices = input(1), &from = input(0);
      size_t i = begin % taken;  // counted: a division takes longer than to copy an element
      const auto* line = static_cast<const uint8_t*>(from.raw) + begin / taken * block;
      auto* to = static_cast<uint8_t*>(output().raw) + begin * run;
      for (size_t left = end - begin; left > 0; --left, to += run) {
        const auto* const at =
            line + static_cast<size_t>(ElementIndex(indices, i, from.dims[axis_])) * run;
        if (run == size)
          CopyElement(to, at, size);
        else
          Copy(to, at, run);
        if (++i < taken) continue;
        i = 0;
        line += block;
      }
    });
  }

 protected:
  Status InferShape() override {
    const Dims &x = input(0).dims, &indices = input(1).dims;
    axis_ = x.Axis(attributes().axis);
    TRIMTAB_CHECK(axis_ >= 0, "axis is out of range (axis, rank)", attributes().axis, x.rank);
    TRIMTAB_CHECK(x[axis_] > 0 || indices.Count() == 0, "nothing to gather from (axis)", axis_);
    TRIMTAB_CHECK(x.rank - 1 + indices.rank <= Dims::kMaxRank, "too many dimensions",
                  x.rank - 1 + indices.rank);
    Dims& y = output().dims;
    y.rank = 0;
    for (int i = 0; i < axis_; ++i) y[y.rank++] = x[i];
    for (int i = 0; i < indices.rank; ++i) y[y.rank++] = indices[i];
    for (int i = axis_ + 1; i < x.rank; ++i) y[y.rank++] = x[i];
    return Status();
  }

 private:
  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gather)
