// Vectors of int8 values for AVX-512 (F, VL, DQ, BW), and of their dequantized values.
#ifndef TRIMTAB_KERNELS_X86_VEC_I8_AVX512_H_
#define TRIMTAB_KERNELS_X86_VEC_I8_AVX512_H_

#if defined(__GNUC__) && !defined(__clang__)
// As in vec_avx512.h.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace {

using Element = int8_t;
constexpr size_t kLanes = 64;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores

struct F {
  __m512i v;
};

inline __mmask64 BytesMask(size_t count) {
  return count >= kLanes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

inline F Load(const int8_t* p) { return {_mm512_loadu_si512(p)}; }
inline void Store(int8_t* p, F a) { _mm512_storeu_si512(p, a.v); }
inline F LoadPartial(const int8_t* p, size_t count) {
  return {_mm512_maskz_loadu_epi8(BytesMask(count), p)};
}
inline void StorePartial(int8_t* p, F a, size_t count) {
  _mm512_mask_storeu_epi8(p, BytesMask(count), a.v);
}
inline F Xor(F a, int8_t bits) { return {_mm512_xor_si512(a.v, _mm512_set1_epi8(bits))}; }
inline F Max(F a, F b) { return {_mm512_max_epi8(a.v, b.v)}; }

// A vector of int8 values widens to four vectors of 32-bit values.
constexpr int kQuarters = 4;
struct I32Vector {
  __m512i v;
};
struct F32Vector {
  __m512 v;
};
template <int kQuarter>
inline I32Vector WidenQuarter(F a) {
  return {_mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(a.v, kQuarter))};
}
inline I32Vector SetI32(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline I32Vector LoadI32(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline void StoreI32(int32_t* p, I32Vector a) { _mm512_storeu_si512(p, a.v); }
inline I32Vector operator+(I32Vector a, I32Vector b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline F32Vector ToF32(I32Vector a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline F32Vector SetF32(float x) { return {_mm512_set1_ps(x)}; }
inline F32Vector LoadF32(const float* p) { return {_mm512_loadu_ps(p)}; }
inline F32Vector LoadPartialF32(const float* p, size_t count) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), p)};
}
inline F32Vector Fma(F32Vector a, F32Vector b, F32Vector c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F32Vector operator*(F32Vector a, F32Vector b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32Vector Max(F32Vector a, F32Vector b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32Vector Divide(F32Vector a, F32Vector b) { return {_mm512_div_ps(a.v, b.v)}; }
// Mask of the values between -1 and 1, and whether all of them are.
inline __mmask16 AbsBelowOne(F32Vector a) {
  return _mm512_cmp_ps_mask(_mm512_abs_ps(a.v), _mm512_set1_ps(1), _CMP_LT_OQ);
}
inline bool AllAbsBelowOne(F32Vector a) { return AbsBelowOne(a) == 0xffff; }

// Quantizes: rounds half to even, then adds the zero point. kFit: all values fit 32 bits.
template <bool kFit>
struct QuantizerOf {
  __m512 upper;
  __m512i zero_point, low, high;

  QuantizerOf(int32_t zero_point_of_y, int32_t low_of_y, int32_t high_of_y)
      : upper(_mm512_set1_ps(static_cast<float>(high_of_y - zero_point_of_y))),
        zero_point(_mm512_set1_epi16(static_cast<int16_t>(zero_point_of_y))),
        low(_mm512_set1_epi8(static_cast<int8_t>(low_of_y))),
        high(_mm512_set1_epi8(static_cast<int8_t>(high_of_y))) {}
  template <typename Args>
  explicit QuantizerOf(const Args& args) : QuantizerOf(args.zero_point, args.low, args.high) {}

  // Values too small for 32 bits become the minimum, which then saturates; so does NaN.
  __m512i RoundToI32(F32Vector a) const {
    return _mm512_cvtps_epi32(kFit ? a.v : _mm512_min_ps(upper, a.v));
  }
  F operator()(const F32Vector (&a)[kQuarters]) const {
    const __m512i first = _mm512_packs_epi32(RoundToI32(a[0]), RoundToI32(a[1]));
    const __m512i last = _mm512_packs_epi32(RoundToI32(a[2]), RoundToI32(a[3]));
    __m512i bytes = _mm512_packs_epi16(_mm512_adds_epi16(first, zero_point),
                                       _mm512_adds_epi16(last, zero_point));
    if (kFit) bytes = _mm512_min_epi8(bytes, high);
    // Packing leaves the quarters interleaved in groups of four values.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return {_mm512_permutexvar_epi32(order, _mm512_max_epi8(bytes, low))};
  }
};
using Quantizer = QuantizerOf<false>;

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_I8_AVX512_H_
