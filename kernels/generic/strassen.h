// Sums of one level of Strassen's algorithm in Winograd's form (Higham 2002, section 23.1).
#ifndef TRIMTAB_KERNELS_GENERIC_STRASSEN_H_
#define TRIMTAB_KERNELS_GENERIC_STRASSEN_H_

#include "kernels/kernel_api.h"

namespace {

// Whole vectors, and the part of one that is left at the end of a row.
struct Whole {
  F Get(const float* p) const { return Load(p); }
  void Put(float* p, F a) const { Store(p, a); }
};
struct Part {
  size_t count;
  F Get(const float* p) const { return LoadPart(p, count); }
  void Put(float* p, F a) const { StorePart(p, a, count); }
};

// f(i, access) for the vectors of n elements.
template <typename Function>
inline void Vectors(size_t n, const Function& f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, Whole{});
  if (i < n) f(i, Part{n - i});
}

inline void StrassenSums(const StrassenSumsF32Args& given) {
  const StrassenSumsF32Args args = given;  // a copy that stores cannot change
  Vectors(args.n, [&](size_t i, auto access) {
    const F a11 = access.Get(args.a11 + i), a21 = access.Get(args.a21 + i);
    const F s1 = a21 + access.Get(args.a22 + i);
    const F s2 = s1 - a11;
    float* const s = args.s + i;
    access.Put(s, s1);
    access.Put(s + args.n, s2);
    access.Put(s + 2 * args.n, a11 - a21);
    access.Put(s + 3 * args.n, access.Get(args.a12 + i) - s2);
  });
}

inline void AddTo(float* y, const float* x, size_t n) {
  Vectors(n,
          [&](size_t i, auto access) { access.Put(y + i, access.Get(y + i) + access.Get(x + i)); });
}

inline void StrassenResults(const StrassenResultsF32Args& given) {
  const StrassenResultsF32Args args = given;
  const size_t n = args.n;
  const bool has_residual = args.residual_top != nullptr;
  if (args.bottom != nullptr) {
    const F low = Set(args.clamp_min), high = Set(args.clamp_max);
    Vectors(n, [&](size_t i, auto access) {
      float* const y = args.bottom + n + i;
      F sum = access.Get(args.bottom + i) + (access.Get(args.top + n + i) - access.Get(y));
      if (has_residual) sum = sum + access.Get(args.residual_bottom + n + i);
      access.Put(y, Min(Max(sum, low), high));
    });
    if (has_residual) AddTo(args.bottom, args.residual_bottom, n);
  }
  if (has_residual) AddTo(args.top, args.residual_top, 2 * n);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_STRASSEN_H_
