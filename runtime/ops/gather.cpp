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
    size_t* const offsets = scratch<size_t>(0);  // in bytes: all lines take the same elements
    for (size_t i = 0; i < taken; ++i)
      offsets[i] = static_cast<size_t>(ElementIndex(input(1), i, x.dims[axis_])) * run;
    pool.For(outer * taken, run / size, [=](size_t begin, size_t end, int) {
      size_t i = begin % taken;  // counted: a division takes longer than to copy an element
      const auto* line = static_cast<const uint8_t*>(input(0).raw) + begin / taken * block;
      auto* to = static_cast<uint8_t*>(output().raw) + begin * run;
      for (size_t left = end - begin; left > 0;) {
        const size_t count = left < taken - i ? left : taken - i;
        const size_t last = i + count;
        for (; run == 4 && i + 4 <= last; i += 4, to += 16) {
          for (size_t k = 0; k < 4; ++k) __builtin_memcpy(to + 4 * k, line + offsets[i + k], 4);
        }
        for (; i < last; ++i, to += run) {
          if (run == size)
            CopyElement(to, line + offsets[i], size);
          else
            Copy(to, line + offsets[i], run);
        }
        left -= count;
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

  Status Prepare() override {
    return RequestScratch(static_cast<uint64_t>(input(1).Count()) * sizeof(size_t));
  }

 private:
  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gather)
