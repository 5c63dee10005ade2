// TRIMTAB_UNROLL before a loop of constant length: its arrays of vectors must become registers, at
// any optimisation level.
#ifndef TRIMTAB_KERNELS_GENERIC_UNROLL_H_
#define TRIMTAB_KERNELS_GENERIC_UNROLL_H_

#if defined(__clang__)
#define TRIMTAB_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TRIMTAB_UNROLL _Pragma("GCC unroll 64")
#endif

#endif  // TRIMTAB_KERNELS_GENERIC_UNROLL_H_
