// Instruction-set extensions of this machine. Besides kernels/, the only code that knows
// architectures.
#ifndef TRIMTAB_CORE_CPU_H_
#define TRIMTAB_CORE_CPU_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

// Names as in `features` of kernels/isa.toml, in PascalCase. Bits of different architectures may be
// equal.
enum CpuFeature : uint32_t {
  // x86_64
  kCpuAvx2 = 1u << 0,
  kCpuFma = 1u << 1,
  kCpuAvx512f = 1u << 2,
  kCpuAvx512vl = 1u << 3,
  kCpuAvx512dq = 1u << 4,
  kCpuAvx512bw = 1u << 5,
  kCpuAvx512vbmi = 1u << 6,
  kCpuAvx512vnni = 1u << 7,
  // aarch64, armv7
  kCpuNeon = 1u << 0,
  kCpuVfpv4 = 1u << 1,
  kCpuFp16 = 1u << 2,
  kCpuDotprod = 1u << 3,
  kCpuI8mm = 1u << 4,
  // TRIMTAB_ISA is unset or names an instruction set.
  kCpuIsaKnown = 1u << 31,
};

// Bits of CpuFeature, detected once. The environment variable TRIMTAB_ISA, a row of isa.toml, hides
// the features that neither that row nor lower rows need; an unknown name hides all of them.
uint32_t CpuFeatures();

// Returns an error if TRIMTAB_ISA names no row of isa.toml for this architecture.
Status CheckIsa();

// Spin-wait hint: the core saves power and leaves the loop faster.
void Relax();

// Name of the feature with bit index `bit` as in isa.toml; null past the last.
const char* CpuFeatureName(int bit);

// A row of generated/isa_table.cpp: an instruction set of this architecture, with the features of
// lower rows.
struct IsaRow {
  uint32_t name;  // NameHash
  uint32_t cpu_features;
};
extern const IsaRow kIsaTable[];
extern const size_t kIsaTableSize;
extern const char kIsaMessage[];  // which names there are; "" when strings are off

}  // namespace trimtab

#endif  // TRIMTAB_CORE_CPU_H_
