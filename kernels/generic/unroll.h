// TRIMTAB_UNROLL before a loop of constant length: its arrays of vectors must become registers, at
// any optimization level. TRIMTAB_NO_UNROLL before one whose body is long: copies would cost
// size and gain nothing.
#ifndef TRIMTAB_KERNELS_GENERIC_UNROLL_H_
#define TRIMTAB_KERNELS_GENERIC_UNROLL_H_

#if defined(__clang__)
#define TRIMTAB_UNROLL _Pragma("clang loop unroll(full)")
#define TRIMTAB_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TRIMTAB_UNROLL _Pragma("GCC unroll 64")
#define TRIMTAB_NO_UNROLL _Pragma("GCC unroll 1")
#endif

#endif  // TRIMTAB_KERNELS_GENERIC_UNROLL_H_
