// Vectors of int8 values for AVX2, and of their dequantized values; see vec_i8_avx512.h.
#ifndef TRIMTAB_KERNELS_X86_VEC_I8_AVX2_H_
#define TRIMTAB_KERNELS_X86_VEC_I8_AVX2_H_

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace {

using Element = int8_t;
constexpr size_t kLanes = 32;
constexpr int kVectorsPerAccess = 1;  // vectors that one instruction loads and stores

struct F {
  __m256i v;
};

inline F Load(const int8_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
inline void Store(int8_t* p, F a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v); }
inline F LoadPartial(const int8_t* p, size_t count) {
  alignas(32) int8_t part[kLanes] = {};
  memcpy(part, p, count);
  return Load(part);
}
inline void StorePartial(int8_t* p, F a, size_t count) {
  alignas(32) int8_t part[kLanes];
  Store(part, a);
  memcpy(p, part, count);
}
inline F Xor(F a, int8_t bits) { return {_mm256_xor_si256(a.v, _mm256_set1_epi8(bits))}; }
inline F Max(F a, F b) { return {_mm256_max_epi8(a.v, b.v)}; }

constexpr int kQuarters = 4;
struct I32Vector {
  __m256i v;
};
struct F32Vector {
  __m256 v;
};
template <int kQuarter>
inline I32Vector WidenQuarter(F a) {
  const __m128i half = _mm256_extracti128_si256(a.v, kQuarter / 2);
  return {_mm256_cvtepi8_epi32(kQuarter % 2 == 0 ? half : _mm_srli_si128(half, 8))};
}
inline I32Vector SetI32(int32_t x) { return {_mm256_set1_epi32(x)}; }
inline I32Vector LoadI32(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline void StoreI32(int32_t* p, I32Vector a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
inline I32Vector operator+(I32Vector a, I32Vector b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline F32Vector ToF32(I32Vector a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline F32Vector SetF32(float x) { return {_mm256_set1_ps(x)}; }
inline F32Vector LoadF32(const float* p) { return {_mm256_loadu_ps(p)}; }
inline F32Vector LoadPartialF32(const float* p, size_t count) {
  alignas(32) float part[kLanes / kQuarters] = {};
  memcpy(part, p, count * sizeof(*part));
  return LoadF32(part);
}
inline F32Vector Fma(F32Vector a, F32Vector b, F32Vector c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
inline F32Vector operator*(F32Vector a, F32Vector b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F32Vector Max(F32Vector a, F32Vector b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F32Vector Divide(F32Vector a, F32Vector b) { return {_mm256_div_ps(a.v, b.v)}; }
inline bool AllAbsBelowOne(F32Vector a) {
  const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v);
  return _mm256_movemask_ps(_mm256_cmp_ps(size, _mm256_set1_ps(1), _CMP_LT_OQ)) == 0xff;
}

template <bool kFit>
struct QuantizerOf {
  __m256 upper;
  __m256i zero_point, low, high;

  QuantizerOf(int32_t zero_point_of_y, int32_t low_of_y, int32_t high_of_y)
      : upper(_mm256_set1_ps(static_cast<float>(high_of_y - zero_point_of_y))),
        zero_point(_mm256_set1_epi16(static_cast<int16_t>(zero_point_of_y))),
        low(_mm256_set1_epi8(static_cast<int8_t>(low_of_y))),
        high(_mm256_set1_epi8(static_cast<int8_t>(high_of_y))) {}
  template <typename Args>
  explicit QuantizerOf(const Args& args) : QuantizerOf(args.zero_point, args.low, args.high) {}

  __m256i RoundToI32(F32Vector a) const {
    return _mm256_cvtps_epi32(kFit ? a.v : _mm256_min_ps(upper, a.v));
  }
  // Interleaves the quarters in groups of four values.
  F Interleaved(const F32Vector (&a)[kQuarters]) const {
    const __m256i first = _mm256_packs_epi32(RoundToI32(a[0]), RoundToI32(a[1]));
    const __m256i last = _mm256_packs_epi32(RoundToI32(a[2]), RoundToI32(a[3]));
    __m256i bytes = _mm256_packs_epi16(_mm256_adds_epi16(first, zero_point),
                                       _mm256_adds_epi16(last, zero_point));
    if (kFit) bytes = _mm256_min_epi8(bytes, high);
    return {_mm256_max_epi8(bytes, low)};
  }
  F operator()(const F32Vector (&a)[kQuarters]) const {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return {_mm256_permutevar8x32_epi32(Interleaved(a).v, order)};
  }
};
using Quantizer = QuantizerOf<false>;

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_VEC_I8_AVX2_H_
