#include "generated/attributes/free_crop.h"

#include "runtime/core/strided_copy.h"
#include "runtime/ops/free_dimensions.h"

namespace trimtab {
namespace {

class FreeCrop final : public OperatorOf<FreeCropAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    ptrdiff_t from[Dims::kMaxRank], to[Dims::kMaxRank], start = 0;
    LogicalStrides(x, from);
    LogicalStrides(y, to);
    StridedCopy copy(y.element_size());
    const int added = y.dims.rank - x.dims.rank;
    for (int i = 0; i < y.dims.rank; ++i) {
      const ptrdiff_t stride = i < added || x.dims[i - added] == 1 ? 0 : from[i - added];
      copy.AddAxis(y.dims[i], stride, to[i]);
      start += stride * sizes_[i];
    }
    const auto size = static_cast<ptrdiff_t>(y.element_size());
    copy.Run(static_cast<const uint8_t*>(x.raw) + start * size, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const uint32_t count = attributes().free.size;
    TRIMTAB_RETURN_IF_ERROR(SizeTermsOf(attributes()).Compute(input(1).dims, count, sizes_));
    const Dims& x = input(0).dims;
    Dims& y = output().dims;
    const int rank = static_cast<int>(count / 2), added = rank - x.rank;
    TRIMTAB_CHECK(count % 2 == 0 && added >= 0, "the sizes do not fit the rank (sizes, rank)",
                  count, x.rank);
    y.rank = rank;
    for (int i = 0; i < rank; ++i) {
      const int64_t have = i < added ? 1 : x[i - added], start = sizes_[i];
      y[i] = sizes_[rank + i];
      const bool repeats = have == 1 && start == 0;
      TRIMTAB_CHECK(y[i] >= 0 && start >= 0 && (repeats || start + y[i] <= have),
                    "a dimension is too short (elements, needed)", have, start + y[i]);
    }
    return Status();
  }

 private:
  int32_t sizes_[kMaxFreeSizes] = {};
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(FreeCrop)
