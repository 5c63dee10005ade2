#include "generated/attributes/gather.h"

#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/element_index.h"

namespace trimtab {
namespace {

constexpr size_t kAtOnce = 256;  // indices on the stack

class Gather final : public OperatorOf<GatherAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    const auto taken = static_cast<size_t>(input(1).Count());
    const auto outer = static_cast<size_t>(x.dims.Count(0, axis_));
    const size_t run = static_cast<size_t>(x.dims.Count(axis_ + 1, x.dims.rank)) * x.element_size();
    const auto* from = static_cast<const uint8_t*>(x.raw);
    auto* to = static_cast<uint8_t*>(output().raw);
    const int64_t length = x.dims[axis_];
    if (run == x.element_size()) return GatherElements(pool);
    pool.For(outer * taken, run / x.element_size(), [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t block = i / taken * static_cast<size_t>(length);
        const auto index = static_cast<size_t>(ElementIndex(input(1), i % taken, length));
        Copy(to + i * run, from + (block + index) * run, run);
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
  // Indices of single elements are read once for a range of blocks, a stack's worth at a time.
  void GatherElements(ThreadPool& pool) {
    const Tensor& x = input(0);
    const auto taken = static_cast<size_t>(input(1).Count());
    const auto length = static_cast<size_t>(x.dims[axis_]), size = x.element_size();
    const auto* const from = static_cast<const uint8_t*>(x.raw);
    auto* const to = static_cast<uint8_t*>(output().raw);
    pool.For(static_cast<size_t>(x.dims.Count(0, axis_)), taken,
             [&](size_t begin, size_t end, int) {
               size_t offsets[kAtOnce];
               for (size_t first = 0; first < taken; first += kAtOnce) {
                 const size_t count = taken - first < kAtOnce ? taken - first : kAtOnce;
                 for (size_t i = 0; i < count; ++i)
                   offsets[i] =
                       static_cast<size_t>(ElementIndex(input(1), first + i, x.dims[axis_])) * size;
                 for (size_t block = begin; block < end; ++block) {
                   const uint8_t* const line = from + block * length * size;
                   uint8_t* const out = to + (block * taken + first) * size;
                   for (size_t i = 0; i < count; ++i)
                     CopyElement(out + i * size, line + offsets[i], size);
                 }
               }
             });
  }

  int axis_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Gather)
