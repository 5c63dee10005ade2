// The micro-kernels in this binary, and how an operator finds the one its plan names.
#ifndef TRIMTAB_CORE_KERNEL_TABLE_H_
#define TRIMTAB_CORE_KERNEL_TABLE_H_

#include "kernels/kernel_api.h"
#include "runtime/core/attributes.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// FNV-1a, 32 bits (name_hash in trimtab/schema): files and tables name kernels and families by it.
constexpr uint32_t NameHash(const char* name, uint32_t value = 0x811C9DC5u) {
  for (; *name != '\0'; ++name) value = (value ^ static_cast<uint8_t>(*name)) * 0x01000193u;
  return value;
}

// Key of a kernel family for elements of type T. `family`: NameHash of the family's name, which is
// continued here: FamilyHash<float>(NameHash("gemm")) is the hash of "gemm_f32".
template <typename T>
constexpr uint16_t FamilyHash(uint32_t family) {
  return static_cast<uint16_t>(NameHash(DTypeOf<T>::kName, NameHash("_", family)) & 0xFFFFu);
}

struct KernelRow {
  uint32_t name;          // NameHash
  uint16_t family;        // FamilyHash
  uint8_t mr, nr;         // the tile in the kernel's name; 0: any (portable)
  DType activation;       // element type, if an activation operator names the family; else kNone
  uint32_t cpu_features;  // required bits of runtime/core/cpu.h
  KernelFunction function;
};

// Finds the kernel that the plan names. If this binary or this CPU lacks it, the first row of the
// family with the same tile that the CPU supports (rows are sorted by rank), finally the portable
// one. Checks the tile of `ref`: on success 1 <= mr <= kMaxTileRows and nr <= kMaxTileColumns for
// families with tiles.
Status FindKernel(const KernelRef& ref, uint16_t family, const KernelRow** row);

// The same, typed: the type of the arguments selects the element type.
//   Kernel<GemmArgs<float>> gemm;
//   Bind<NameHash("gemm")>(attributes().kernel, &gemm);
template <typename Args>
using Kernel = void (*)(const Args&);

template <typename Args>
Status Bind(const KernelRef& ref, uint16_t family, Kernel<Args>* kernel) {
  const KernelRow* row = nullptr;
  TRIMTAB_RETURN_IF_ERROR(FindKernel(ref, family, &row));
  *kernel = reinterpret_cast<Kernel<Args>>(row->function);
  return Status();
}

template <uint32_t kFamily, template <typename> class Args, typename T>
inline Status Bind(const KernelRef& ref, Kernel<Args<T>>* kernel) {
  constexpr uint16_t kHash = FamilyHash<T>(kFamily);
  return Bind(ref, kHash, kernel);
}

// Defined in the generated kernel_table.cpp; rows of a family are adjacent, highest rank first.
extern const KernelRow kKernelTable[];
extern const size_t kKernelTableSize;
// The name of each row. The engine does not use it: the linker drops it from binaries that print no
// names.
extern const char* const kKernelNames[];

}  // namespace trimtab

#endif  // TRIMTAB_CORE_KERNEL_TABLE_H_
