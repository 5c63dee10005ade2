#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/strided_copy.h"

namespace trimtab {
namespace {

class ChannelShuffle final : public OperatorOf<ChannelShuffleAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    Tensor& y = output();
    const auto groups = static_cast<ptrdiff_t>(attributes().group);
    const ptrdiff_t members = y.c() / groups;
    StridedCopy copy(y.element_size());
    copy.AddAxis(y.Count() / y.c(), y.c(), y.c());
    copy.AddAxis(groups, members, 1);
    copy.AddAxis(members, 1, groups);
    copy.Run(input(0).raw, y.raw, pool);
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const int64_t group = attributes().group;
    TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
    TRIMTAB_CHECK(group > 0 && x.c() > 0 && x.c() % group == 0,
                  "groups do not divide the channels (groups, channels)", group, x.c());
    output().dims = x.dims;
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ChannelShuffle)
