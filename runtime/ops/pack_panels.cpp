// Packs weights into the panels of GEMM kernels: expands them to the computed type and pads panels.
#include "generated/attributes/pack_panels.h"

#include "runtime/core/parallel.h"
#include "runtime/ops/stored_weights.h"

namespace trimtab {
namespace {

template <typename T>
class PackPanels final : public PackOf<PackPanelsAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  int64_t panels() const {
    return (attributes().columns + attributes().panel - 1) / attributes().panel;
  }
};

template <typename T>
Status PackPanels<T>::InferShape() {
  const int64_t count = weights().Count(), groups = attributes().groups;
  const int64_t columns = attributes().columns;
  int64_t depth = 0;
  bool fits = groups >= 1 && groups <= count && columns >= 1 && columns <= count / groups;
  for (uint32_t i = 0; i < attributes().depths.size && fits; ++i) {
    const int64_t block = attributes().depths[i];
    fits = block >= 0 && block <= count - depth;
    if (fits) depth += block;
  }
  TRIMTAB_CHECK(fits && groups * columns * depth == count,
                "groups, columns and depths do not fit the weights (elements)", count);
  output().dims = weights().dims;
  return Status();
}

template <typename T>
Status PackPanels<T>::Prepare() {
  const int64_t groups = attributes().groups, columns = attributes().columns;
  const int64_t depth = weights().Count() / groups / columns;
  if (is_coded()) {
    const int64_t width = columns < attributes().panel ? columns : attributes().panel;
    TRIMTAB_RETURN_IF_ERROR(PrepareCode(
        groups * columns, static_cast<uint64_t>(groups * panels()) * attributes().depths.size,
        static_cast<size_t>(depth * width)));
  }
  return CheckPacking(groups * columns, groups * panels() * attributes().panel * depth);
}

template <typename T>
void PackPanels<T>::Run(ThreadPool& pool) {
  const size_t groups = static_cast<size_t>(attributes().groups);
  const size_t columns = static_cast<size_t>(attributes().columns);
  const size_t panel = static_cast<size_t>(attributes().panel);
  const size_t panels = static_cast<size_t>(this->panels());
  size_t first = 0;
  ReadCode();
  T* y = result<T>();
  for (uint32_t block = 0; block < attributes().depths.size; ++block) {
    const size_t depth = static_cast<size_t>(attributes().depths[block]);
    pool.For(groups * panels, depth * panel, [&](size_t begin, size_t end, int thread) {
      for (size_t i = begin; i < end; ++i) {
        const size_t column = i % panels * panel;
        const size_t index = i / panels * columns + column;
        const StoredRows rows = {input(0), first + index * depth, depth,
                                 Min(columns - column, panel)};
        const size_t place = static_cast<size_t>(thread);
        Open(block * groups * panels + i, rows.first, depth * rows.width, index, rows.width, place);
        Copy(place, rows, index, y + i * depth * panel, panel);
      }
    });
    first += groups * columns * depth;
    y += groups * panels * panel * depth;
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(PackPanels, float, F32)
TRIMTAB_TYPED_OPERATOR(PackPanels, Half, F16)
