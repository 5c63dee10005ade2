// Packs weights of several groups of a convolution into one panel (block-diagonal weights).
#include "generated/attributes/pack_merged.h"

#include <string.h>

#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"

namespace trimtab {
namespace {

template <typename T>
class PackMerged final : public PackOf<PackMergedAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  int64_t columns() const { return weights().dims[0] / attributes().groups; }  // of a group
};

template <typename T>
Status PackMerged<T>::InferShape() {
  const Tensor& w = weights();
  const auto& plan = attributes();
  TRIMTAB_CHECK(w.dims.rank == 4 && w.Count() > 0, "weights must have four dimensions");
  TRIMTAB_CHECK(plan.groups >= 1 && plan.merged >= 1 && plan.groups % plan.merged == 0,
                "the groups are no multiple of the merged ones", plan.groups);
  TRIMTAB_CHECK(w.dims[0] % plan.groups == 0 && w.dims[1] == plan.channels,
                "groups and channels do not fit the weights (outputs)", w.dims[0]);
  TRIMTAB_CHECK(plan.merged <= plan.panel && columns() <= plan.panel / plan.merged,
                "the columns of the merged groups do not fit a panel", columns());
  output().dims = w.dims;
  return Status();
}

template <typename T>
Status PackMerged<T>::Prepare() {
  // One panel for `merged` groups, with a row for each tap, group and channel.
  const int64_t rows = weights().Count() / columns();
  if (is_coded()) {
    const size_t groups = static_cast<size_t>(attributes().groups);
    TRIMTAB_RETURN_IF_ERROR(
        PrepareCode(weights().dims[0], groups, static_cast<size_t>(weights().Count()) / groups));
  }
  return CheckPacking(weights().dims[0], rows * attributes().panel);
}

template <typename T>
void PackMerged<T>::Run(ThreadPool& pool) {
  const size_t merged = static_cast<size_t>(attributes().merged);
  const size_t channels = static_cast<size_t>(attributes().channels);
  const size_t panel = static_cast<size_t>(attributes().panel);
  const size_t width = static_cast<size_t>(columns());
  const size_t groups = static_cast<size_t>(attributes().groups);
  const size_t taps = weights().Count() / (groups * width * channels);
  T* const y = result<T>();
  const size_t rows = taps * channels;  // of a group
  ReadCode();
  pool.For(groups / merged, rows * merged * panel, [&](size_t begin, size_t end, int thread) {
    memset(y + begin * rows * merged * panel, 0, (end - begin) * rows * merged * panel * sizeof(T));
    for (size_t group = begin * merged; group < end * merged; ++group) {
      const size_t place = group % merged, column = group * width, first = column * rows;
      const size_t own = static_cast<size_t>(thread);
      Open(group, first, rows * width, column, width, own);
      for (size_t row = 0; row < rows; ++row) {
        const size_t tap = group / merged * taps + row / channels;
        T* const to = y + ((tap * merged + place) * channels + row % channels) * panel;
        Copy(own, {input(0), first + row * width, 1, width}, column, to + place * width, width);
      }
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(PackMerged, float, F32)
TRIMTAB_TYPED_OPERATOR(PackMerged, Half, F16)
