#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/x86/gemm_i8.h"

namespace {

// vpmaddubsw adds two byte products in 16 bits: twice the elements of vpmaddwd, and weights are not
// widened. The order of paired weights keeps these sums from saturating, so they are exact.
struct PairedTile {
  static constexpr int kMr = 6, kNr = 16, kVectors = 2;
  static constexpr bool kProductsFit = false;
  static constexpr int Smaller(int rows) { return rows > 4 ? 4 : rows / 2; }
  static constexpr size_t kDotDepth = 4;  // elements of a step that are multiplied at once
  static constexpr size_t kStepBytes = sizeof(PairedStep) + static_cast<size_t>(kPairedDepth) * kNr;
  static size_t PanelBytes(const GemmArgs<int8_t>& args) { return args.steps * kStepBytes; }

  explicit PairedTile(const GemmArgs<int8_t>&) {}

  // Offsets of a step's elements, in rows of consecutive taps.
  class Source {
   public:
    explicit Source(const GemmArgs<int8_t>& args) : a_(args.a), k_(args.k) {}

    // The rows' elements of the next step, in its order, unsigned.
    template <int kRows>
    inline void Gather(const int8_t* w, uint8_t (*rows)[kPairedDepth]) {
      PairedStep step;
      __builtin_memcpy(&step, w, sizeof(step));
      for (; step.base - begin_ >= k_; begin_ += k_) a_ += kMr;
      const size_t base = step.base - begin_;
      const __m128i index = _mm_loadu_si128(reinterpret_cast<const __m128i*>(step.index));
      const __m128i sign = _mm_set1_epi8(INT8_MIN);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a_[i] + base));
        _mm_store_si128(reinterpret_cast<__m128i*>(rows[i]),
                        _mm_xor_si128(_mm_shuffle_epi8(x, index), sign));
      }
    }

   private:
    const int8_t* const* a_;
    const size_t k_;
    size_t begin_ = 0;
  };

  // With intrinsics alone, GCC 12 sums up the products of a step first, and spills them.
  static inline void Add(__m256i* sum, __m256i pairs, __m256i ones) {
    __asm__("vpmaddwd %2, %1, %1\n\tvpaddd %1, %0, %0" : "+x"(*sum), "+x"(pairs) : "x"(ones));
  }

  // 12 of 16 registers hold sums. Rows are gathered one step before they are read.
  template <int kRows, int kUsed>
  inline void Multiply(const GemmArgs<int8_t>& args, I32Vector (&sums)[kRows][kUsed]) const {
    InitializeWithBias(args, sums);
    alignas(16) uint8_t rows[2][kRows][kPairedDepth];
    const __m256i ones = _mm256_set1_epi16(1);
    const int8_t* w = args.w;
    PairedStep first;
    __builtin_memcpy(&first, w, sizeof(first));
    Source source(args);
    source.Gather<kRows>(w, rows[0]);
    for (size_t s = 0; s < first.count; ++s) {
      const int8_t* const next = s + 1 < first.count ? w + kStepBytes : w;
      source.Gather<kRows>(next, rows[(s + 1) % 2]);
      const uint8_t (*x)[kPairedDepth] = rows[s % 2];
      const auto* b = reinterpret_cast<const __m256i*>(w + sizeof(PairedStep));
      TRIMTAB_UNROLL
      for (size_t p = 0; p < kPairedDepth; p += kDotDepth, b += kVectors) {
        TRIMTAB_UNROLL
        for (int i = 0; i < kRows; ++i) {
          int32_t four;
          __builtin_memcpy(&four, x[i] + p, sizeof(four));
          const __m256i a = _mm256_set1_epi32(four);
          TRIMTAB_UNROLL
          for (int v = 0; v < kUsed; ++v) {
            Add(&sums[i][v].v, _mm256_maddubs_epi16(a, _mm256_loadu_si256(b + v)), ones);
          }
        }
      }
      w = next;
    }
  }
};

}  // namespace

extern "C" void paired_gemm_i8_6x16c4_avx2(const PairedGemmArgs<int8_t>& args) {
  GemmI8<PairedTile>(args);
}
