// Element-wise functions of two operands: the loop over vectors and a tail, and the families.
#ifndef TRIMTAB_KERNELS_GENERIC_BINARY_H_
#define TRIMTAB_KERNELS_GENERIC_BINARY_H_

#include "kernels/generic/family.h"
#include "kernels/generic/piecewise.h"

namespace {

// An operand that advances with the index, and one that is the same everywhere.
struct Stream {
  const Element* p;
  F Vector(size_t i) const { return Load(p + i); }
  F Part(size_t i, size_t count) const { return LoadPart(p + i, count); }
};
struct Scalar {
  F value;
  F Vector(size_t) const { return value; }
  F Part(size_t, size_t) const { return value; }
};

template <typename A, typename B, typename Function>
inline void MapPair(Element* y, size_t n, const A& a, const B& b, const Function& f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, f(a.Vector(i), b.Vector(i)));
  if (i < n) StorePart(y + i, f(a.Part(i, n - i), b.Part(i, n - i)), n - i);
}

// y[i] = f(a[i * a_step], b[i * b_step]), row by row.
template <typename Function>
inline void Map(const BinaryArgs<Element>& given, const Function& f) {
  const BinaryArgs<Element> args = given;  // a copy that stores to y cannot change
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
