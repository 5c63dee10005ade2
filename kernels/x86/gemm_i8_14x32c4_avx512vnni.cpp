#include "kernels/x86/vec_bytes_avx512.h"

#include "kernels/x86/gemm_bytes.h"

namespace {

// The instruction multiplies bytes without sign, four a lane, by bytes with one: weights become the
// former by adding 128, which flips their highest bit, and 128 times the sum of a row is too much in
// each of its results. A row is a broadcast operand then, without any step of its own.
struct DotTile {
  static constexpr int kMr = 14, kNr = 32, kVectors = 2, kRowsAtOnce = 4;
  static constexpr int Smaller(int rows) { return rows > 10 ? 10 : rows > 7 ? 7 : rows / 2; }
  static size_t PanelBytes(const GemmArgs<int8_t>& args) { return PlainPanelBytes<kNr>(args); }

  int32_t excess[16];  // of each row

  explicit DotTile(const GemmArgs<int8_t>& args) {
    args.k <= sizeof(__m128i) ? SumUp(args, ExcessOfFew) : SumUp(args, ExcessOfMany);
  }

  template <typename Excess>
  inline void SumUp(const GemmArgs<int8_t>& args, const Excess& of_row) {
    for (size_t i = 0; i < kMr; i += kRowsAtOnce) {
      __m128i sums[kRowsAtOnce];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kRowsAtOnce; ++j) sums[j] = of_row(args, i + j < kMr ? i + j : i);
      const __m128i all =
          _mm_hadd_epi32(_mm_hadd_epi32(sums[0], sums[1]), _mm_hadd_epi32(sums[2], sums[3]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(excess + i), all);
    }
  }

  // In four parts: of taps of at most 16 channels, and of others. Taps of few channels are one vector
  // each, of which a part is loaded.
  static inline __m128i ExcessOfFew(const GemmArgs<int8_t>& args, size_t row) {
    const __m128i offset = _mm_set1_epi8(INT8_MIN);
    const auto mask = static_cast<__mmask16>((1u << args.k) - 1u);
    __m128i sum = _mm_setzero_si128();
    const int8_t* const* a = args.a + row;
    for (size_t t = args.taps; t > 0; --t, a += kMr)
      sum = _mm_dpbusd_epi32(sum, offset, _mm_maskz_loadu_epi8(mask, *a));
    return sum;
  }
  static inline __m128i ExcessOfMany(const GemmArgs<int8_t>& args, size_t row) {
    const __m512i offset = _mm512_set1_epi8(INT8_MIN);
    __m512i sum = _mm512_setzero_si512();
    const int8_t* const* a = args.a + row;
    const size_t whole = (args.k - 1) / kLanes * kLanes;
    const __mmask64 mask = BytesMask(args.k - whole);
    for (size_t t = args.taps; t > 0; --t, a += kMr) {
      const int8_t* p = *a;
      for (const int8_t* const end = p + whole; p != end; p += kLanes)
        sum = _mm512_dpbusd_epi32(sum, offset, Load(p).v);
      sum = _mm512_dpbusd_epi32(sum, offset, _mm512_maskz_loadu_epi8(mask, p));
    }
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }

  // The intrinsic has GCC 12 keep all sums in memory.
  static inline void Add(__m512i* sum, __m512i w, __m512i x) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(w), "v"(x));
  }

  // Weights of eight turns on. A single row is done sooner than they come.
  static inline void Prefetch(const int8_t* w) {
    constexpr size_t kAhead = 32 * kNr;
    _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead + kLanes, _MM_HINT_T0);
  }

  // 28 of 32 registers hold sums: 28 dot products per 2 + 14 loads.
  template <int kRows, int kUsed>
  inline void Multiply(const GemmArgs<int8_t>& args, Numbers (&sums)[kRows][kUsed]) const {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const __m512i bias = _mm512_loadu_si512(args.bias + v * kNumbers);
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

extern "C" void gemm_i8_14x32c4_avx512vnni(const GemmArgs<int8_t>& args) {
  GemmBytes<DotTile>(args);
}
