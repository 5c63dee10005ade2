// The primitives of kernels/generic/ for plain C++: a vector of one lane. The reference for the
// other vec_<isa>.h.
//
//   F  vector of kLanes Elements
//   I  vector of kLanes 32-bit integers (wrapping)
//   M  vector of kLanes conditions
//
// Max(a, b) and Min(a, b) return a if a is NaN. Functions on partial vectors take 0 < count <=
// kLanes; LoadPartial pads with 0. Load and Store take elements, and floats.
//
// F is computed in float, whatever TRIMTAB_ELEMENT is (vec_f16.h).
#ifndef TRIMTAB_KERNELS_PORTABLE_VEC_SCALAR_H_
#define TRIMTAB_KERNELS_PORTABLE_VEC_SCALAR_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef TRIMTAB_ELEMENT
#define TRIMTAB_ELEMENT float
#endif

namespace {

using Element = TRIMTAB_ELEMENT;
constexpr size_t kLanes = 1;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores
constexpr int kMaxVectorsPerAccess = 1;

struct F {
  float v;
};
struct I {
  uint32_t v;
};
struct M {
  bool v;
};

inline F Set(float x) { return {x}; }
template <typename T>
inline F Load(const T* p) {
  return {static_cast<float>(*p)};
}
template <typename T>
inline void Store(T* p, F a) {
  *p = static_cast<T>(a.v);
}
inline F LoadPartial(const Element* p, size_t) { return Load(p); }
inline void StorePartial(Element* p, F a, size_t) { Store(p, a); }
inline void ForceEvaluation(F&) {}  // other vec_<isa>.h force the compiler to compute it here

inline F operator+(F a, F b) { return {a.v + b.v}; }
inline F operator-(F a, F b) { return {a.v - b.v}; }
inline F operator*(F a, F b) { return {a.v * b.v}; }
inline F Divide(F a, F b) { return {a.v / b.v}; }
inline F Sqrt(F a) { return {__builtin_sqrtf(a.v)}; }
inline F Fma(F a, F b, F c) { return {a.v * b.v + c.v}; }  // fused if the compiler chooses
inline F Max(F a, F b) { return {b.v > a.v ? b.v : a.v}; }
inline F Min(F a, F b) { return {b.v < a.v ? b.v : a.v}; }

inline M Less(F a, F b) { return {a.v < b.v}; }
inline M IsNan(F a) { return {a.v != a.v}; }
inline F Select(M m, F yes, F no) { return m.v ? yes : no; }

inline I SetBits(uint32_t x) { return {x}; }
inline I Bits(F a) {
  I r;
  memcpy(&r.v, &a.v, sizeof(r.v));
  return r;
}
inline F FromBits(I a) {
  F r;
  memcpy(&r.v, &a.v, sizeof(r.v));
  return r;
}
inline F ToFloat(I a) { return {static_cast<float>(static_cast<int32_t>(a.v))}; }
inline I operator+(I a, I b) { return {a.v + b.v}; }
inline I operator-(I a, I b) { return {a.v - b.v}; }
inline I operator&(I a, I b) { return {a.v & b.v}; }
inline I operator|(I a, I b) { return {a.v | b.v}; }
template <int kBits>
inline I ShiftLeft(I a) {
  return {a.v << kBits};
}
template <int kBits>
inline I ShiftRight(I a) {
  return {static_cast<uint32_t>(static_cast<int32_t>(a.v) >> kBits)};
}

}  // namespace

#endif  // TRIMTAB_KERNELS_PORTABLE_VEC_SCALAR_H_
