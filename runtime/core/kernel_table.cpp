#include "runtime/core/kernel_table.h"

#include "runtime/core/cpu.h"

namespace trimtab {
namespace {

bool Fits(const KernelRow& row, const KernelRef& ref) {
  const bool same_tile = row.nr == 0 || (row.nr == ref.nr && row.mr == ref.mr);
  return row.family == ref.family && same_tile && (row.cpu_features & ~CpuFeatures()) == 0;
}

}  // namespace

Status FindKernel(const KernelRef& ref, uint16_t family, const KernelRow** row) {
  TRIMTAB_CHECK(ref.name != 0, "the program has no plan: optimize it for a target first");
  TRIMTAB_CHECK(ref.family == family, "the plan names a kernel of another family");
  TRIMTAB_CHECK(ref.mr <= kMaxTileRows && ref.nr <= kMaxTileColumns, "kernel tile is out of range",
                ref.mr, ref.nr);
  const KernelRow* stand_in = nullptr;
  for (size_t i = 0; i < kKernelTableSize; ++i) {
    const KernelRow& candidate = kKernelTable[i];
    if (!Fits(candidate, ref)) continue;
    if (candidate.name == ref.name) {
      *row = &candidate;
      return Status();
    }
    if (stand_in == nullptr) stand_in = &candidate;
  }
  if (stand_in == nullptr)
    return Status(Code::kMissingKernel,
                  TRIMTAB_TEXT("this binary or CPU lacks the planned kernel (its hash)"), ref.name);
  *row = stand_in;
  return Status();
}

}  // namespace trimtab
