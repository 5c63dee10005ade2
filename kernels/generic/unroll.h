// TRIMTAB_UNROLL unrolls the loop that follows: a loop of constant length whose arrays of vectors
// must become registers at any optimization level. TRIMTAB_NO_UNROLL keeps a loop with a long body
// as it is, because copies of the body would add size without benefit. Under a sanitizer no loop is
// unrolled: clang takes minutes for a body of ten thousand checks.
#ifndef TRIMTAB_KERNELS_GENERIC_UNROLL_H_
#define TRIMTAB_KERNELS_GENERIC_UNROLL_H_

#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRIMTAB_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TRIMTAB_UNROLL _Pragma("clang loop unroll(full)")
#endif
#define TRIMTAB_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TRIMTAB_UNROLL _Pragma("GCC unroll 64")
#define TRIMTAB_NO_UNROLL _Pragma("GCC unroll 1")
#endif

#endif  // TRIMTAB_KERNELS_GENERIC_UNROLL_H_
