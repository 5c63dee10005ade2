#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/x86/gemm_i8.h"

namespace {

// Pairs of 16-bit values, which do not saturate as products of unsigned bytes would: weights are
// widened when loaded, rows before.
class WideningTile {
 public:
  static constexpr int kMr = 6, kNr = 16, kVectors = 2;
  static constexpr bool kProductsFit = false;
  static constexpr int Smaller(int rows) { return rows > 4 ? 4 : rows / 2; }
  static size_t PanelBytes(const GemmArgs<int8_t>& args) { return PlainPanelBytes<kNr>(args); }
  static constexpr size_t kMaxWidened = 128;  // elements of a row that are widened at once

  // Short rows are widened once for all panels, as if they were one tap.
  explicit WideningTile(const GemmArgs<int8_t>& args)
      : is_widened_(args.taps * args.k <= kMaxWidened),
        taps_(is_widened_ ? 1 : args.taps),
        k_(is_widened_ ? args.taps * args.k : args.k) {
    for (size_t t = 0; is_widened_ && t < args.taps; ++t) {
      for (int i = 0; i < kMr; ++i) Widen(args.a[t * kMr + i], args.k, rows_[i] + t * args.k);
    }
  }

  static inline void Widen(const int8_t* from, size_t count, int16_t* to) {
    constexpr size_t kStep = sizeof(__m128i);
    if (count < kStep) {
      for (; count > 0; --count) *to++ = *from++;
      return;
    }
    for (size_t i = 0; i + kStep < count; i += kStep) WidenStep(from + i, to + i);
    WidenStep(from + count - kStep, to + count - kStep);  // overlaps the previous one
  }
  static inline void WidenStep(const int8_t* from, int16_t* to) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepi8_epi16(bytes));
  }

  // 12 of 16 registers hold sums.
  template <int kRows, int kUsed>
  inline void Multiply(const GemmArgs<int8_t>& args, I32Vector (&sums)[kRows][kUsed]) const {
    InitializeWithBias(args, sums);
    const int8_t* const* a = args.a;
    const int8_t* w = args.w;
    for (size_t t = 0; t < taps_; ++t, a += kMr) {
      for (size_t begin = 0; begin < k_; begin += kMaxWidened) {
        const size_t count = k_ - begin < kMaxWidened ? k_ - begin : kMaxWidened;
        for (int i = 0; !is_widened_ && i < kRows; ++i) Widen(a[i] + begin, count, rows_[i]);
        for (size_t p = 0; p < count; p += 2, w += 2 * kNr) {
          __m256i b[kUsed];
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) {
            const auto* from = reinterpret_cast<const __m128i*>(w + v * sizeof(__m128i));
            b[v] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
          }
          TRIMTAB_UNROLL
          for (int i = 0; i < kRows; ++i) {
            int32_t two;
            __builtin_memcpy(&two, rows_[i] + p, sizeof(two));
            const __m256i x = _mm256_set1_epi32(two);
            TRIMTAB_UNROLL
            for (int v = 0; v < kUsed; ++v)
              sums[i][v].v = _mm256_add_epi32(sums[i][v].v, _mm256_madd_epi16(x, b[v]));
          }
        }
      }
    }
  }

 private:
  const bool is_widened_;
  const size_t taps_, k_;
  alignas(64) mutable int16_t rows_[kMr][kMaxWidened];
};

}  // namespace

extern "C" void gemm_i8_6x16c2_avx2(const GemmArgs<int8_t>& args) { GemmI8<WideningTile>(args); }
