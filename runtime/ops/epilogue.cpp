#include "runtime/ops/epilogue.h"

namespace trimtab {

void Epilogue::Apply(float* y, size_t rows, size_t columns, size_t stride) const {
  if (stride == columns) {
    columns *= rows;
    rows = 1;
  }
  for (size_t i = 0; i < rows; ++i, y += stride) activation({y, y, columns, alpha, beta});
}

Status BindActivation(uint32_t op, const KernelRef& ref, Kernel<UnaryF32Args>* kernel) {
  *kernel = nullptr;
  if (op == 0) return Status();
  const KernelRow* row = nullptr;
  TRIMTAB_RETURN_IF_ERROR(FindKernel(ref, ref.family, &row));
  // The family comes from the file, so it alone does not prove which arguments the function takes.
  TRIMTAB_CHECK(row->activation, "the plan names a kernel that is not an activation (activation)",
                op);
  *kernel = reinterpret_cast<Kernel<UnaryF32Args>>(row->function);
  return Status();
}

}  // namespace trimtab
