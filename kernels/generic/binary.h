// Element-wise functions of two operands: the loop over vectors and a tail, and the families.
#ifndef TRIMTAB_KERNELS_GENERIC_BINARY_H_
#define TRIMTAB_KERNELS_GENERIC_BINARY_H_

#include "kernels/generic/family.h"
#include "kernels/generic/piecewise.h"
#include "kernels/generic/side_by_side.h"

namespace {

// An operand that advances with the index, and one that is the same everywhere.
struct Stream {
  const Element* p;
  template <int kVectors>
  void Next(F (&x)[kVectors]) {
    LoadStep(p, kVectors * kLanes, x);
  }
  F Part(size_t count) const { return LoadPart(p, count); }
};
struct Scalar {
  F value;
  template <int kVectors>
  void Next(F (&x)[kVectors]) const {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) x[v] = value;
  }
  F Part(size_t) const { return value; }
};

template <int kVectors, typename A, typename B, typename Function>
inline void PairVectors(Element*& y, A& a, B& b, const Function& f) {
  F left[kVectors], right[kVectors];
  a.Next(left);
  b.Next(right);
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) left[v] = f(left[v], right[v]);
  StoreStep(y, kVectors * kLanes, left);
}

template <typename A, typename B, typename Function>
inline void MapPair(Element* y, size_t n, A a, B b, const Function& f) {
  constexpr size_t kStep = kSideBySide * kLanes;
  TRIMTAB_NO_UNROLL
  for (; n >= kStep; n -= kStep) PairVectors<kSideBySide>(y, a, b, f);
  if (kStep > kLanes && n >= kLanes) {
    PairVectors<1>(y, a, b, f);
    n -= kLanes;
  }
  if (n > 0) StorePart(y, f(a.Part(n), b.Part(n)), n);
}

// Rows of which all have the same b, as pixels that are scaled by channel: strips of columns, whose
// part of b stays in registers. Returns how many columns that does.
template <typename Function>
inline size_t MapColumns(const BinaryArgs<Element>& args, const Function& f) {
  constexpr size_t kStrip = kMostSideBySide * kLanes;
  size_t done = 0;
  for (; done + kStrip <= args.n; done += kStrip) {
    const Element *a = args.a + done, *b = args.b + done;
    Element* y = args.y + done;
    F right[kMostSideBySide];
    LoadStep(b, 0, right);
    TRIMTAB_NO_UNROLL
    for (size_t row = args.rows; row > 0; --row) {
      F left[kMostSideBySide];
      LoadStep(a, args.a_row, left);
      TRIMTAB_UNROLL
      for (int v = 0; v < kMostSideBySide; ++v) left[v] = f(left[v], right[v]);
      StoreStep(y, args.y_row, left);
    }
  }
  return done;
}

// y[i] = f(a[i * a_step], b[i * b_step]), row by row.
template <typename Function>
inline void Map(const BinaryArgs<Element>& given, const Function& f) {
  BinaryArgs<Element> args = given;  // a copy that stores to y cannot change
  if (kMostSideBySide > 1 && args.a_step + args.b_step == 2 && args.b_row == 0 && args.rows > 1) {
    const size_t done = MapColumns(args, f);
    args.a += done;
    args.b += done;
    args.y += done;
    args.n -= done;
  }
  if (args.n == 0) return;
  const Element *a = args.a, *b = args.b;
  Element* y = args.y;
  for (size_t row = args.rows; row > 0; --row, a += args.a_row, b += args.b_row, y += args.y_row) {
    if (args.a_step == 0) {
      const Scalar left = {Set(*a)};
      if (args.b_step == 0) {
        MapPair(y, args.n, left, Scalar{Set(*b)}, f);
      } else {
        MapPair(y, args.n, left, Stream{b}, f);
      }
    } else if (args.b_step == 0) {
      MapPair(y, args.n, Stream{a}, Scalar{Set(*b)}, f);
    } else {
      MapPair(y, args.n, Stream{a}, Stream{b}, f);
    }
  }
}

TRIMTAB_FAMILY(f32, f16)
inline void Add(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return a + b; });
}

TRIMTAB_FAMILY(f32, f16, needs(division))
inline void Div(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return Divide(a, b); });
}

TRIMTAB_FAMILY(f32, f16)
inline void Max(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Max(a, b)); });
}

TRIMTAB_FAMILY(f32, f16)
inline void Min(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return Select(IsNan(b), b, Min(a, b)); });
}

TRIMTAB_FAMILY(f32, f16)
inline void Mul(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return a * b; });
}

TRIMTAB_FAMILY(f32, f16)
inline void Prelu(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return LeakyRelu(a, b); });
}

TRIMTAB_FAMILY(f32, f16)
inline void Sub(const BinaryArgs<Element>& args) {
  Map(args, [](F a, F b) { return a - b; });
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_BINARY_H_
