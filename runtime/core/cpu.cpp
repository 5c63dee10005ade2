#include "runtime/core/cpu.h"

#if defined(_WIN32)
#include <stdlib.h>
#else
#include <unistd.h>
#endif

#include "runtime/core/kernel_table.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__APPLE__)
#include <crt_externs.h>
#endif

namespace trimtab {
namespace {

#if defined(__x86_64__)

uint64_t XGetBv() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr const char* kNames[] = {"avx2",     "fma",        "avx512f",    "avx512vl", "avx512dq",
                                  "avx512bw", "avx512vbmi", "avx512vnni", nullptr};

// Intel SDM volume 1, 14.3 and 15.2: an extension is usable only if the system saves its registers
// (XCR0).
uint32_t Detect() {
  uint32_t a, b, c, d;
  uint32_t features = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (1u << 27)) == 0) return 0;
  const bool fma = (c & (1u << 12)) != 0;
  const uint64_t saved = XGetBv();
  if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if (fma) features |= kCpuFma;
  if (b & (1u << 5)) features |= kCpuAvx2;
  if ((saved & 0xE0) == 0xE0) {
    if (b & (1u << 16)) features |= kCpuAvx512f;
    if (b & (1u << 31)) features |= kCpuAvx512vl;
    if (b & (1u << 17)) features |= kCpuAvx512dq;
    if (b & (1u << 30)) features |= kCpuAvx512bw;
    if (c & (1u << 1)) features |= kCpuAvx512vbmi;
    if (c & (1u << 11)) features |= kCpuAvx512vnni;
  }
  return features;
}

#elif defined(__aarch64__) || defined(__arm__)

constexpr const char* kNames[] = {"neon", "vfpv4", "fp16", "dotprod", "i8mm", nullptr};

#if defined(__APPLE__)

bool Has(const char* feature) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(feature, &value, &size, nullptr, 0) == 0 && value != 0;
}

uint32_t Detect() {
  uint32_t features = kCpuNeon;
  if (Has("hw.optional.arm.FEAT_FP16")) features |= kCpuFp16;
  if (Has("hw.optional.arm.FEAT_DotProd")) features |= kCpuDotprod;
  if (Has("hw.optional.arm.FEAT_I8MM")) features |= kCpuI8mm;
  return features;
}

#elif defined(__aarch64__)

// Linux arch/arm64/include/uapi/asm/hwcap.h.
uint32_t Detect() {
  const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
  uint32_t features = kCpuNeon;
  if ((caps & (1ul << 9)) && (caps & (1ul << 10))) features |= kCpuFp16;
  if (caps & (1ul << 20)) features |= kCpuDotprod;
  if (caps2 & (1ul << 13)) features |= kCpuI8mm;
  return features;
}

#else

// Linux arch/arm/include/uapi/asm/hwcap.h.
uint32_t Detect() {
  const unsigned long caps = getauxval(AT_HWCAP);
  uint32_t features = 0;
  if (caps & (1ul << 12)) features |= kCpuNeon;
  if (caps & (1ul << 16)) features |= kCpuVfpv4;
  return features;
}

#endif

#else

constexpr const char* kNames[] = {nullptr};

uint32_t Detect() { return 0; }

#endif

// The value of the environment entry that starts with `begin`, or null. getenv would link 700 bytes
// of string functions.
const char* Environment(const char* begin) {
#if defined(__APPLE__)
  char** const environ = *_NSGetEnviron();  // a shared library there has no `environ`
#endif
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char *name = begin, *at = *entry;
    while (*name != '\0' && *name == *at) ++name, ++at;
    if (*name == '\0') return at;
  }
  return nullptr;
}

// The features that TRIMTAB_ISA allows.
uint32_t Limit() {
  const char* isa = Environment("TRIMTAB_ISA=");
  if (isa == nullptr || *isa == '\0') return ~uint32_t{0};
  for (size_t i = 0; i < kIsaTableSize; ++i) {
    if (kIsaTable[i].name == NameHash(isa)) return kIsaTable[i].cpu_features | kCpuIsaKnown;
  }
  return 0;
}

}  // namespace

uint32_t CpuFeatures() {
  static uint32_t features = 0;
  if (features == 0) features = (Detect() | kCpuIsaKnown) & Limit();
  return features;
}

Status CheckIsa() {
  return (CpuFeatures() & kCpuIsaKnown) != 0 ? Status() : Status(Code::kBadArgument, kIsaMessage);
}

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

const char* CpuFeatureName(int bit) { return kNames[bit]; }

}  // namespace trimtab
