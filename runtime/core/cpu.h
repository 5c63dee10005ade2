// Instruction-set extensions of the machine we run on. With kernels/, the only place that knows
// architectures.
#ifndef TRIMTAB_CORE_CPU_H_
#define TRIMTAB_CORE_CPU_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

// Names as in kernels/isa.toml `features`, in PascalCase. No machine is of two architectures, whose
// bits may be the same.
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
  // TRIMTAB_ISA names an instruction set, or is not there.
  kCpuIsaKnown = 1u << 31,
};

// Bits of CpuFeature. Asked once, then remembered. TRIMTAB_ISA in the environment, a row of
// isa.toml, hides what neither that row nor lower ones need; as long as it is any other name it
// hides everything.
uint32_t CpuFeatures();

// An error where TRIMTAB_ISA names no row of isa.toml for this architecture.
Status CheckIsa();

// Tells the core that this thread spins: it saves power, and leaves the loop faster.
void Relax();

// Name of the feature with bit index `bit` as in isa.toml, or null behind the last.
const char* CpuFeatureName(int bit);

// What generated/isa_table.cpp holds: a row of isa.toml for this architecture, with the features of
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
