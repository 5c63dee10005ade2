// The micro-kernels in this binary, and how an operator gets the one its plan names.
#ifndef TRIMTAB_CORE_KERNEL_TABLE_H_
#define TRIMTAB_CORE_KERNEL_TABLE_H_

#include "kernels/kernel_api.h"
#include "runtime/core/attributes.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace trimtab {

// FNV-1a, 32 bits (trimtab/schema.py name_hash): kernels and families are named by it in files and
// tables.
constexpr uint32_t NameHash(const char* name, uint32_t value = 0x811C9DC5u) {
  for (; *name != '\0'; ++name) value = (value ^ static_cast<uint8_t>(*name)) * 0x01000193u;
  return value;
}

// What the kernels of a family for elements of T are found by. `family`: its NameHash, which goes on
// here: FamilyHash<float>(NameHash("gemm")) is that of "gemm_f32".
template <typename T>
constexpr uint16_t FamilyHash(uint32_t family) {
  return static_cast<uint16_t>(NameHash(DTypeOf<T>::kName, NameHash("_", family)) & 0xFFFFu);
}

struct KernelRow {
  uint32_t name;          // NameHash
  uint16_t family;        // FamilyHash
  uint8_t mr, nr;         // tile in the name; 0: any (portable)
  DType activation;       // elements, of a family that an activation operator names; kNone: another
  uint32_t cpu_features;  // bits of runtime/core/cpu.h that the machine must have
  KernelFunction function;
};

// Finds the kernel that the plan names. When this binary or this CPU does not have it, another
// member of the family with the same tile takes its place: the first row that fits (rows are
// sorted by rank), at last the portable one. The tile of `ref` is checked: on success 1 <= mr <=
// kMaxTileRows and nr <= kMaxTileColumns where the family has tiles.
Status FindKernel(const KernelRef& ref, uint16_t family, const KernelRow** row);

// The same, typed: the type of the arguments says which elements the kernel is for.
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

// Defined by the generated kernel_table.cpp; rows of a family stand together, highest rank first.
extern const KernelRow kKernelTable[];
extern const size_t kKernelTableSize;
// The name of each row. The engine does without: the linker drops them where nobody asks.
extern const char* const kKernelNames[];

}  // namespace trimtab

#endif  // TRIMTAB_CORE_KERNEL_TABLE_H_
