#include "runtime/ops/epilogue.h"

namespace trimtab {

template <typename T>
void Epilogue<T>::Apply(T* y, size_t rows, size_t columns, size_t stride) const {
  if (stride == columns) {
    columns *= rows;
    rows = 1;
  }
  for (size_t i = 0; i < rows; ++i, y += stride) activation({y, y, columns, alpha, beta});
}

template <typename T>
Status BindActivation(uint32_t op, const KernelRef& ref, Kernel<UnaryArgs<T>>* kernel) {
  *kernel = nullptr;
  if (op == 0) return Status();
  const KernelRow* row = nullptr;
  TRIMTAB_RETURN_IF_ERROR(FindKernel(ref, ref.family, &row));
  // The family comes from the file, which does not prove the type of the function's arguments.
  TRIMTAB_CHECK(row->activation == DTypeOf<T>::kValue,
                "the plan names a kernel that is not an activation (activation)", op);
  *kernel = reinterpret_cast<Kernel<UnaryArgs<T>>>(row->function);
  return Status();
}

template struct Epilogue<float>;
template struct Epilogue<Half>;
template Status BindActivation(uint32_t, const KernelRef&, Kernel<UnaryArgs<float>>*);
template Status BindActivation(uint32_t, const KernelRef&, Kernel<UnaryArgs<Half>>*);

}  // namespace trimtab
