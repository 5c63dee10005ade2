// The primitives of kernels/generic/ for AVX-512 (F, VL, DQ, BW); semantics:
// kernels/portable/vec_scalar.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_AVX512_H_
#define TRIMTAB_KERNELS_X86_VEC_AVX512_H_

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 reports the deliberately undefined operands of its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TRIMTAB_ELEMENT
#define TRIMTAB_ELEMENT float
#endif

namespace {

using Element = TRIMTAB_ELEMENT;
constexpr size_t kLanes = 16;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores
constexpr int kMaxVectorsPerAccess = 1;

struct F {
  __m512 v;
};
struct I {
  __m512i v;
};
struct M {
  __mmask16 v;
};

inline __mmask16 PartialMask(size_t count) { return static_cast<__mmask16>((1u << count) - 1u); }

inline F Set(float x) { return {_mm512_set1_ps(x)}; }
inline F Load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void Store(float* p, F a) { _mm512_storeu_ps(p, a.v); }
inline F LoadPartial(const float* p, size_t count) {
  return {_mm512_maskz_loadu_ps(PartialMask(count), p)};
}
inline void StorePartial(float* p, F a, size_t count) {
  _mm512_mask_storeu_ps(p, PartialMask(count), a.v);
}

// Loads with an index are free, so loops share one index.
constexpr bool kHasPostIncrement = false;
template <typename T>
inline void Advance(T*& p, size_t n) {
  p += n;
}

// Forces the compiler to compute `a` here, not later.
inline void ForceEvaluation(F& a) { __asm__ volatile("" : "+v"(a.v)); }

inline F operator+(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F operator-(F a, F b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F operator*(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F Divide(F a, F b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F Sqrt(F a) { return {_mm512_sqrt_ps(a.v)}; }
inline F Fma(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F Max(F a, F b) {
  return {_mm512_max_ps(b.v, a.v)};
}  // the instruction returns its second operand on NaN
inline F Min(F a, F b) { return {_mm512_min_ps(b.v, a.v)}; }

inline M Less(F a, F b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline M IsNan(F a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
inline F Select(M m, F yes, F no) { return {_mm512_mask_blend_ps(m.v, no.v, yes.v)}; }

inline I SetBits(uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
inline I Bits(F a) { return {_mm512_castps_si512(a.v)}; }
inline F FromBits(I a) { return {_mm512_castsi512_ps(a.v)}; }
inline F ToFloat(I a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline F TimesPowerOfTwo(F a, I n) { return {_mm512_scalef_ps(a.v, ToFloat(n).v)}; }
inline I operator+(I a, I b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I operator-(I a, I b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline I operator&(I a, I b) { return {_mm512_and_si512(a.v, b.v)}; }
inline I operator|(I a, I b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int kBits>
inline I ShiftLeft(I a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I ShiftRight(I a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_AVX512_H_
