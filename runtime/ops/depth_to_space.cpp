#include "generated/attributes/depth_to_space.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class DepthToSpace final : public OperatorOf<DepthToSpaceAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    const auto block = static_cast<ptrdiff_t>(attributes().block_size);
    const ptrdiff_t c = y.c();
    // dcr: channels of x are [block row][block column][c]; crd: [c][block row][block column].
    const bool dcr = attributes().mode == DepthToSpaceMode::kDcr;
    const ptrdiff_t from_column = dcr ? c : 1;
    StridedCopy copy(y.element_size());
    copy.AddAxis(int64_t{x.n()} * x.h(), ptrdiff_t{x.w()} * x.c(), block * y.w() * c);
    copy.AddAxis(x.w(), x.c(), block * c);
    copy.AddAxis(block, block * from_column, y.w() * c);
    copy.AddAxis(block, from_column, c);
    copy.AddAxis(c, dcr ? 1 : block * block, 1);
    copy.Run(x.raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const int64_t block = attributes().block_size;
    TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
    TRIMTAB_CHECK(block > 0 && block <= INT16_MAX && x.c() % (block * block) == 0,
                  "the block does not divide the channels (block, channels)", block, x.c());
    TRIMTAB_CHECK(x.h() <= INT32_MAX / block && x.w() <= INT32_MAX / block,
                  "the result is too large (block)", block);
    const auto edge = static_cast<int32_t>(block);
    Dims& dims = output().dims;
    dims.rank = 4;
    dims[0] = x.n();
    dims[1] = x.c() / (edge * edge);
    dims[2] = x.h() * edge;
    dims[3] = x.w() * edge;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(DepthToSpace)
