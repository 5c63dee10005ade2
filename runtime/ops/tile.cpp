#include "generated/attributes/tile.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class Tile final : public OperatorOf<TileAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank];
    LogicalStrides(x, from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    for (int i = 0; i < y.dims.rank; ++i) {
      copy.AddAxis(attributes().repeats[static_cast<size_t>(i)], 0, to[i] * x.dims[i]);
      copy.AddAxis(x.dims[i], from[i], to[i]);
    }
    copy.Run(x.raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Dims& dims = input(0).dims;
    const IntList& repeats = attributes().repeats;
    TRIMTAB_CHECK(repeats.size == static_cast<uint32_t>(dims.rank),
                  "one repeat per dimension is needed (repeats, rank)", repeats.size, dims.rank);
    output().dims = dims;
    for (int i = 0; i < dims.rank; ++i) {
      const int64_t times = repeats[static_cast<size_t>(i)];
      TRIMTAB_CHECK(times >= 0 && times <= INT32_MAX && times * dims[i] <= INT32_MAX,
                    "repeat is out of range (dimension, repeat)", i, times);
      output().dims[i] = static_cast<int32_t>(times * dims[i]);
    }
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Tile)
