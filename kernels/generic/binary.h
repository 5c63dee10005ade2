// Element-wise functions of two operands: loops over vectors, and the kernel families.
#ifndef TRIMTAB_KERNELS_GENERIC_BINARY_H_
#define TRIMTAB_KERNELS_GENERIC_BINARY_H_

#include "kernels/generic/family.h"
#include "kernels/generic/piecewise.h"
#include "kernels/generic/vector_groups.h"

namespace {

// Rows that all have the same b, such as pixels scaled per channel: strips of columns whose part of
// b stays in registers. Returns the number of columns computed.
template <typename Function>
inline size_t MapColumns(const BinaryArgs<Element>& args, const Function& f) {
  constexpr size_t kStrip = kMaxVectorsPerAccess * kLanes;
  size_t done = 0;
  for (; done + kStrip <= args.n; done += kStrip) {
    const Element *a = args.a + done, *b = args.b + done;
    Element* y = args.y + done;
    F right[kMaxVectorsPerAccess];
    LoadAndAdvance(b, 0, right);
    TRIMTAB_NO_UNROLL
    for (size_t row = args.rows; row > 0; --row) {
      F left[kMaxVectorsPerAccess];
      LoadAndAdvance(a, args.a_row, left);
      TRIMTAB_UNROLL
      for (int v = 0; v < kMaxVectorsPerAccess; ++v) left[v] = f(left[v], right[v]);
      StoreAndAdvance(y, args.y_row, left);
    }
  }
  return done;
}

// Returns an operand that advances with the index, or, for a scalar, copies of it for one step,
// which are read repeatedly, so that one loop serves both cases.
inline const Element* Operand(const Element* p, size_t step, Element (&copies)[kStep]) {
  if (step != 0) return p;
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectorsPerAccess; ++v) Store(copies + v * kLanes, Set(*p));
  return copies;
}

// y[i] = f(a[i * a_step], b[i * b_step]), row by row.
template <typename Function>
inline void Map(const BinaryArgs<Element>& original, const Function& f) {
  BinaryArgs<Element> args = original;  // stores to y might alias it
  if (kMaxVectorsPerAccess > 1 && args.a_step + args.b_step == 2 && args.b_row == 0 &&
      args.rows > 1) {
    const size_t done = MapColumns(args, f);
    args.a += done;
    args.b += done;
    args.y += done;
    args.n -= done;
  }
  if (args.n == 0) return;
  Element a_copies[kStep], b_copies[kStep];
  for (size_t row = 0; row < args.rows; ++row) {
    const Element* a = Operand(args.a + row * args.a_row, args.a_step, a_copies);
    const Element* b = Operand(args.b + row * args.b_row, args.b_step, b_copies);
    Element* y = args.y + row * args.y_row;
    size_t left = args.n;
    TRIMTAB_NO_UNROLL
    for (; left >= kStep; left -= kStep) {
      F x[kVectorsPerAccess], z[kVectorsPerAccess];
      LoadAndAdvance(a, args.a_step * kStep, x);
      LoadAndAdvance(b, args.b_step * kStep, z);
      TRIMTAB_UNROLL
      for (int v = 0; v < kVectorsPerAccess; ++v) x[v] = f(x[v], z[v]);
      StoreAndAdvance(y, kStep, x);
    }
    TRIMTAB_NO_UNROLL
    for (size_t count; left > 0; left -= count) {
      count = left < kLanes ? left : kLanes;
      StorePartial(y, f(LoadPartial(a, count), LoadPartial(b, count)), count);
      a += args.a_step * count;
      b += args.b_step * count;
      y += count;
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
