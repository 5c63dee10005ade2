// Loops of the element-wise kernels over vectors and a tail.
#ifndef TRIMTAB_KERNELS_GENERIC_ELEMENTWISE_H_
#define TRIMTAB_KERNELS_GENERIC_ELEMENTWISE_H_

#include "kernels/kernel_api.h"

namespace {

// y[i] = f(x[i]). The function is instantiated once: code size counts more than a predicted branch
// per vector.
template <typename Function>
inline void Map(const UnaryF32Args& given, const Function& f) {
  const UnaryF32Args args = given;  // a copy that stores to y cannot change
  for (size_t i = 0; i < args.n; i += kLanes) {
    const size_t count = args.n - i;
    if (count >= kLanes) {
      Store(args.y + i, f(Load(args.x + i)));
    } else {
      StorePart(args.y + i, f(LoadPart(args.x + i, count)), count);
    }
  }
}

// An operand that advances with the index, and one that is the same everywhere.
struct Stream {
  const float* p;
  F Vector(size_t i) const { return Load(p + i); }
  F Part(size_t i, size_t count) const { return LoadPart(p + i, count); }
};
struct Scalar {
  F value;
  F Vector(size_t) const { return value; }
  F Part(size_t, size_t) const { return value; }
};

template <typename A, typename B, typename Function>
inline void MapPair(float* y, size_t n, const A& a, const B& b, const Function& f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, f(a.Vector(i), b.Vector(i)));
  if (i < n) StorePart(y + i, f(a.Part(i, n - i), b.Part(i, n - i)), n - i);
}

// y[i] = f(a[i * a_step], b[i * b_step]), row by row.
template <typename Function>
inline void Map(const BinaryF32Args& given, const Function& f) {
  const BinaryF32Args args = given;  // a copy that stores to y cannot change
  if (args.n == 0) return;
  const float *a = args.a, *b = args.b;
  float* y = args.y;
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

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ELEMENTWISE_H_
