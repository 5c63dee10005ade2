// Instruction-set extensions of the machine we run on. With kernels/, the only place that knows
// architectures.
#ifndef TRIMTAB_CORE_CPU_H_
#define TRIMTAB_CORE_CPU_H_

#include <stdint.h>

namespace trimtab {

// Names as in kernels/isa.toml `features`, in PascalCase.
enum CpuFeature : uint64_t {
  kCpuAvx2 = 1u << 0,
  kCpuFma = 1u << 1,
  kCpuAvx512f = 1u << 2,
  kCpuAvx512vl = 1u << 3,
  kCpuAvx512dq = 1u << 4,
  kCpuAvx512bw = 1u << 5,
  kCpuNeon = 1u << 6,
  kCpuVfpv4 = 1u << 7,
  kCpuFp16 = 1u << 8,
  kCpuDotprod = 1u << 9,
  kCpuI8mm = 1u << 10,
};

// Bits of CpuFeature. Asked once, then remembered. TRIMTAB_ISA=portable in the environment hides
// them all.
uint64_t CpuFeatures();

// Tells the core that this thread spins: it saves power, and leaves the loop faster.
void Relax();

// Name of the feature with bit index `bit` as in isa.toml, or null past the last.
const char* CpuFeatureName(int bit);

}  // namespace trimtab

#endif  // TRIMTAB_CORE_CPU_H_
