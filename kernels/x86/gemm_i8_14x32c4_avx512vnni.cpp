#include "kernels/x86/vec_i8_avx512.h"

#include "kernels/x86/gemm_i8.h"

namespace {

// The instruction multiplies unsigned by signed bytes, four per lane: weights become unsigned by
// adding 128, which flips their highest bit, and the excess is 128 times the sum of a row in each
// of its results. So a row is a broadcast memory operand, without instructions of its own.
struct DotTile {
  static constexpr int kMr = 14, kNr = 32, kVectors = 2, kRowsAtOnce = 4;
  static constexpr int Smaller(int rows) { return rows > 10 ? 10 : rows > 7 ? 7 : rows / 2; }
  static size_t PanelBytes(const GemmArgs<int8_t>& args) { return PlainPanelBytes<kNr>(args); }

  int32_t excess[16];  // per row

  // Several rows at once share loops; rows past the last have a valid pointer, too.
  explicit DotTile(const GemmArgs<int8_t>& args) {
    for (size_t i = 0; i < sizeof(excess) / sizeof(*excess); i += kRowsAtOnce) {
      const int8_t* const* rows[kRowsAtOnce];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kRowsAtOnce; ++j) rows[j] = args.a + (i + j < kMr ? i + j : i);
      const __m128i sums =
          args.k <= sizeof(__m128i) ? ExcessOfShortRows(args, rows) : ExcessOfLongRows(args, rows);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(excess + i), sums);
    }
  }

  // Rows whose taps have at most 16 channels, one vector each, and other rows.
  static inline __m128i ExcessOfShortRows(const GemmArgs<int8_t>& args,
                                          const int8_t* const* const (&rows)[kRowsAtOnce]) {
    const __m128i offset = _mm_set1_epi8(INT8_MIN);
    const auto mask = static_cast<__mmask16>((1u << args.k) - 1u);
    __m128i sums[kRowsAtOnce] = {};
    for (size_t at = 0; at < args.taps * kMr; at += kMr) {
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kRowsAtOnce; ++j)
        sums[j] = _mm_dpbusd_epi32(sums[j], offset, _mm_maskz_loadu_epi8(mask, rows[j][at]));
    }
    return _mm_hadd_epi32(_mm_hadd_epi32(sums[0], sums[1]), _mm_hadd_epi32(sums[2], sums[3]));
  }
  static inline __m128i ExcessOfLongRows(const GemmArgs<int8_t>& args,
                                         const int8_t* const* const (&rows)[kRowsAtOnce]) {
    const __m512i offset = _mm512_set1_epi8(INT8_MIN);
    const size_t whole = (args.k - 1) / kLanes * kLanes;
    const __mmask64 mask = BytesMask(args.k - whole);
    __m512i sums[kRowsAtOnce] = {};
    for (size_t at = 0; at < args.taps * kMr; at += kMr) {
      for (size_t p = 0; p < whole; p += kLanes) {
        TRIMTAB_UNROLL
        for (size_t j = 0; j < kRowsAtOnce; ++j)
          sums[j] = _mm512_dpbusd_epi32(sums[j], offset, Load(rows[j][at] + p).v);
      }
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kRowsAtOnce; ++j)
        sums[j] = _mm512_dpbusd_epi32(sums[j], offset,
                                      _mm512_maskz_loadu_epi8(mask, rows[j][at] + whole));
    }
    __m256i halves[kRowsAtOnce];
    TRIMTAB_UNROLL
    for (size_t j = 0; j < kRowsAtOnce; ++j)
      halves[j] =
          _mm256_add_epi32(_mm512_castsi512_si256(sums[j]), _mm512_extracti64x4_epi64(sums[j], 1));
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(halves[0], halves[1]),
                                          _mm256_hadd_epi32(halves[2], halves[3]));
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  }

  // With the intrinsic, GCC 12 keeps all sums in memory.
  static inline void Add(__m512i* sum, __m512i w, __m512i x) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(w), "v"(x));
  }

  // Prefetches weights eight iterations ahead. A single row finishes before they arrive.
  static inline void Prefetch(const int8_t* w) {
    constexpr size_t kAhead = 32 * kNr;
    _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead + kLanes, _MM_HINT_T0);
  }

  // Sums times a scale below 1 fit. Otherwise, which is rare, sums whose result saturates whatever
  // the zero point are replaced by smaller ones that saturate, too, and so is the scale.
  static constexpr bool kProductsFit = true;
  template <int kRows, int kUsed>
  static inline void LimitProducts(I32Vector (&sums)[kRows][kUsed], F32Vector (&scale)[kUsed]) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      if (__builtin_expect(AllAbsBelowOne(scale[v]), 1)) continue;
      const __m512i bound = _mm512_mask_mov_epi32(_mm512_set1_epi32(256), AbsBelowOne(scale[v]),
                                                  _mm512_set1_epi32(INT32_MAX));
      scale[v].v = _mm512_min_ps(_mm512_set1_ps(0x1p22f), scale[v].v);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v].v = _mm512_min_epi32(sums[i][v].v, bound);
    }
  }

  // 28 of 32 registers hold sums: 28 dot products per 2 + 14 loads.
  template <int kRows, int kUsed>
  inline void Multiply(const GemmArgs<int8_t>& args, I32Vector (&sums)[kRows][kUsed]) const {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const __m512i bias = _mm512_loadu_si512(args.bias + v * kI32Lanes);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i)
        sums[i][v].v = _mm512_sub_epi32(bias, _mm512_set1_epi32(excess[i]));
    }
    const __m512i offset = _mm512_set1_epi8(INT8_MIN);
    const int8_t* const* a = args.a;
    const int8_t* w = args.w;
    for (size_t t = 0; t < args.taps; ++t, a += kMr) {
      const int8_t* rows[kRows];
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) rows[i] = a[i];
      for (size_t p = 0; p < args.k; p += 4, w += 4 * kNr) {
        __m512i b[kUsed];
        if constexpr (kRows > 1) Prefetch(w);
        TRIMTAB_UNROLL
        for (int v = 0; v < kUsed; ++v)
          b[v] = _mm512_xor_si512(_mm512_loadu_si512(w + v * sizeof(__m512i)), offset);
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          int32_t four;
          __builtin_memcpy(&four, rows[i] + p, sizeof(four));
          const __m512i x = _mm512_set1_epi32(four);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) Add(&sums[i][v].v, b[v], x);
        }
      }
    }
  }
};

}  // namespace

extern "C" void gemm_i8_14x32c4_avx512vnni(const GemmArgs<int8_t>& args) { GemmI8<DotTile>(args); }
