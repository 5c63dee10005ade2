// Sums of one level of Strassen's algorithm in Winograd's form (Higham 2002, section 23.1).
#ifndef TRIMTAB_KERNELS_GENERIC_STRASSEN_H_
#define TRIMTAB_KERNELS_GENERIC_STRASSEN_H_

#include "kernels/generic/family.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Vectors per iteration. Several vectors share pointer updates, and pairs are loaded and stored by
// one instruction where there is one.
constexpr int kGroup = 4;
struct VectorGroup {
  F v[kGroup];
};
template <typename Function>
inline VectorGroup ForEachVector(const Function& f) {
  VectorGroup result;
  TRIMTAB_UNROLL
  for (int i = 0; i < kGroup; ++i) result.v[i] = f(i);
  return result;
}
inline VectorGroup operator+(const VectorGroup& a, const VectorGroup& b) {
  return ForEachVector([&](int i) { return a.v[i] + b.v[i]; });
}
inline VectorGroup operator-(const VectorGroup& a, const VectorGroup& b) {
  return ForEachVector([&](int i) { return a.v[i] - b.v[i]; });
}
inline VectorGroup Max(const VectorGroup& a, F b) {
  return ForEachVector([&](int i) { return Max(a.v[i], b); });
}
inline VectorGroup Min(const VectorGroup& a, F b) {
  return ForEachVector([&](int i) { return Min(a.v[i], b); });
}

// Access to vectors: several at once, or one by one at the end of a row.
struct WholeGroup {
  VectorGroup Get(const Element* p) const {
    return ForEachVector([&](int i) { return Load(p + i * kLanes); });
  }
  void Put(Element* p, const VectorGroup& a) const {
    TRIMTAB_UNROLL
    for (int i = 0; i < kGroup; ++i) Store(p + i * kLanes, a.v[i]);
  }
};
struct PartialVector {
  size_t count;
  F Get(const Element* p) const { return LoadPartial(p, count); }
  void Put(Element* p, F a) const { StorePartial(p, a, count); }
};

// f(i, access) for the vectors of n elements.
template <typename Function>
inline void ForEachGroup(size_t n, const Function& f) {
  constexpr size_t kBlock = kGroup * kLanes;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) f(i, WholeGroup{});
  for (; i < n; i += kLanes) f(i, PartialVector{n - i < kLanes ? n - i : kLanes});
}

TRIMTAB_FAMILY(f32)
inline void StrassenSums(const StrassenSumsArgs<Element>& original) {
  const StrassenSumsArgs<Element> args = original;  // stores might alias it
  ForEachGroup(args.n, [&](size_t i, auto access) {
    const auto a11 = access.Get(args.a11 + i), a21 = access.Get(args.a21 + i);
    const auto s1 = a21 + access.Get(args.a22 + i);
    const auto s2 = s1 - a11;
    Element* const s = args.s + i;
    access.Put(s, s1);
    access.Put(s + args.n, s2);
    access.Put(s + 2 * args.n, a11 - a21);
    access.Put(s + 3 * args.n, access.Get(args.a12 + i) - s2);
  });
}

inline void AddRow(Element* y, const Element* x, size_t n) {
  ForEachGroup(
      n, [&](size_t i, auto access) { access.Put(y + i, access.Get(y + i) + access.Get(x + i)); });
}

TRIMTAB_FAMILY(f32)
inline void StrassenResults(const StrassenResultsArgs<Element>& original) {
  const StrassenResultsArgs<Element> args = original;
  const size_t n = args.n;
  const bool has_residual = args.residual_top != nullptr;
  if (args.bottom != nullptr) {
    const F low = Set(args.clamp_min), high = Set(args.clamp_max);
    ForEachGroup(n, [&](size_t i, auto access) {
      Element* const y = args.bottom + n + i;
      auto sum = access.Get(args.bottom + i) + (access.Get(args.top + n + i) - access.Get(y));
      if (has_residual) sum = sum + access.Get(args.residual_bottom + n + i);
      access.Put(y, Min(Max(sum, low), high));
    });
    if (has_residual) AddRow(args.bottom, args.residual_bottom, n);
  }
  if (has_residual) AddRow(args.top, args.residual_top, 2 * n);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_STRASSEN_H_
