// The primitives of kernels/generic/ for AVX2 with FMA; semantics: kernels/portable/vec_scalar.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_AVX2_H_
#define TRIMTAB_KERNELS_X86_VEC_AVX2_H_

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TRIMTAB_ELEMENT
#define TRIMTAB_ELEMENT float
#endif

namespace {

using Element = TRIMTAB_ELEMENT;
constexpr size_t kLanes = 8;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores
constexpr int kMaxVectorsPerAccess = 1;

struct F {
  __m256 v;
};
struct I {
  __m256i v;
};
struct M {
  __m256 v;
};

inline __m256i PartialMask(size_t count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
}

inline F Set(float x) { return {_mm256_set1_ps(x)}; }
inline F Load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void Store(float* p, F a) { _mm256_storeu_ps(p, a.v); }
inline F LoadPartial(const float* p, size_t count) {
  return {_mm256_maskload_ps(p, PartialMask(count))};
}
inline void StorePartial(float* p, F a, size_t count) {
  _mm256_maskstore_ps(p, PartialMask(count), a.v);
}

// Loads with an index are free, so loops share one index.
constexpr bool kHasPostIncrement = false;
template <typename T>
inline void Advance(T*& p, size_t n) {
  p += n;
}

// Forces the compiler to compute `a` here, not later.
inline void ForceEvaluation(F& a) { __asm__ volatile("" : "+x"(a.v)); }

inline F operator+(F a, F b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F operator-(F a, F b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F operator*(F a, F b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F Divide(F a, F b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F Sqrt(F a) { return {_mm256_sqrt_ps(a.v)}; }
inline F Fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F Max(F a, F b) {
  return {_mm256_max_ps(b.v, a.v)};
}  // the instruction returns its second operand on NaN
inline F Min(F a, F b) { return {_mm256_min_ps(b.v, a.v)}; }

inline M Less(F a, F b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline M IsNan(F a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
inline F Select(M m, F yes, F no) { return {_mm256_blendv_ps(no.v, yes.v, m.v)}; }

inline I SetBits(uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
inline I Bits(F a) { return {_mm256_castps_si256(a.v)}; }
inline F FromBits(I a) { return {_mm256_castsi256_ps(a.v)}; }
inline F ToFloat(I a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline I operator+(I a, I b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline I operator-(I a, I b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline I operator&(I a, I b) { return {_mm256_and_si256(a.v, b.v)}; }
inline I operator|(I a, I b) { return {_mm256_or_si256(a.v, b.v)}; }
template <int kBits>
inline I ShiftLeft(I a) {
  return {_mm256_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I ShiftRight(I a) {
  return {_mm256_srai_epi32(a.v, kBits)};
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_AVX2_H_
