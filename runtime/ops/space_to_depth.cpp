#include "generated/attributes/space_to_depth.h"

#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class SpaceToDepth final : public OperatorOf<SpaceToDepthAttributes> {
 public:
  // Channels of y are [block row][block column][c].
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    const auto block = static_cast<ptrdiff_t>(attributes().block_size);
    const ptrdiff_t c = x.c();
    StridedCopy copy(y.element_size());
    copy.AddAxis(int64_t{y.n()} * y.h(), block * x.w() * c, ptrdiff_t{y.w()} * y.c());
    copy.AddAxis(y.w(), block * c, y.c());
    copy.AddAxis(block, x.w() * c, block * c);
    copy.AddAxis(block, c, c);
    copy.AddAxis(c, 1, 1);
    copy.Run(x.raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const int64_t block = attributes().block_size;
    TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
    TRIMTAB_CHECK(block > 0 && block <= INT16_MAX && x.h() % block == 0 && x.w() % block == 0,
                  "the block does not divide height and width (block)", block);
    TRIMTAB_CHECK(x.c() <= INT32_MAX / (block * block), "the result is too large (block)", block);
    const auto edge = static_cast<int32_t>(block);
    Dims& dims = output().dims;
    dims.rank = 4;
    dims[0] = x.n();
    dims[1] = x.c() * edge * edge;
    dims[2] = x.h() / edge;
    dims[3] = x.w() / edge;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(SpaceToDepth)
