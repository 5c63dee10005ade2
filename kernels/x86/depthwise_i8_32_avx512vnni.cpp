#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/x86/depthwise_i8.h"

namespace {

// Four taps per lane. The instruction multiplies unsigned bytes, inputs plus 128, by signed ones;
// the excess is 128 times the sum of the weights.
template <bool kPart>  // fewer channels than kNr
struct DotTaps {
  static constexpr size_t kNr = 32, kGroup = 4;
  using TapVector = __m256i;
  struct Vectors {
    __m256i v[kQuarters];  // channels 0 to 3 and 16 to 19; 4 to 7 and 20 to 23; ...
  };

  __mmask32 mask;

  explicit DotTaps(size_t channels)
      : mask(static_cast<__mmask32>((uint64_t{1} << channels) - 1u)) {}

  TapVector Load(const int8_t* p) const {
    const __m256i bytes = kPart ? _mm256_maskz_loadu_epi8(mask, p) : Weights(p);
    return _mm256_xor_si256(bytes, _mm256_set1_epi8(INT8_MIN));
  }
  static TapVector Weights(const int8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Vectors Interleave(const TapVector (&x)[kGroup]) {
    const __m256i low = _mm256_unpacklo_epi8(x[0], x[1]), high = _mm256_unpackhi_epi8(x[0], x[1]);
    const __m256i low2 = _mm256_unpacklo_epi8(x[2], x[3]), high2 = _mm256_unpackhi_epi8(x[2], x[3]);
    return {{_mm256_unpacklo_epi16(low, low2), _mm256_unpackhi_epi16(low, low2),
             _mm256_unpacklo_epi16(high, high2), _mm256_unpackhi_epi16(high, high2)}};
  }
  static void Add(Vectors* sums, const Vectors& x, const Vectors& w) {
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q)
      sums->v[q] = _mm256_dpbusd_epi32(sums->v[q], x.v[q], w.v[q]);
  }
  static Vectors Zeros() {
    const __m256i all = _mm256_set1_epi8(INT8_MIN);
    return {{all, all, all, all}};
  }
  // A quarter of 32 values; absent values are 0.
  __m256i LoadQuarter(const void* from, int q) const {
    const auto* numbers = static_cast<const int32_t*>(from) + 4 * q;
    const auto first = static_cast<__mmask8>(mask >> (4 * q) & 15u);
    const auto last = static_cast<__mmask8>(mask >> (16 + 4 * q) & 15u);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_maskz_loadu_epi32(first, numbers)),
                                   _mm_maskz_loadu_epi32(last, numbers + 16), 1);
  }
  Vectors Start(const int32_t* bias, const Vectors& excess) const {
    Vectors start;
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q)
      start.v[q] = _mm256_sub_epi32(LoadQuarter(bias, q), excess.v[q]);
    return start;
  }
  Vectors Scales(const float* scale) const {
    return {{LoadQuarter(scale, 0), LoadQuarter(scale, 1), LoadQuarter(scale, 2),
             LoadQuarter(scale, 3)}};
  }
  void Finish(const ProductQuantizer& quantize, const Vectors& sums,
              const ChannelTile<DotTaps>& tile, int8_t* y) const {
    const auto dequantized = [](__m256i x) { return F32Vector{_mm256_castsi256_ps(x)}; };
    F32Vector x[kQuarters];
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) x[q] = ToF32({sums.v[q]}) * dequantized(tile.scale.v[q]);
    if (tile.has_slope) {
      TRIMTAB_UNROLL
      for (int q = 0; q < kQuarters; ++q) x[q] = Max(x[q], x[q] * dequantized(tile.slope.v[q]));
    }
    const __m256i bytes = quantize.Interleaved(x).v;
    if (kPart) {
      _mm256_mask_storeu_epi8(y, mask, bytes);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
    }
  }
};

}  // namespace

extern "C" void depthwise_i8_32_avx512vnni(const DepthwiseArgs<int8_t>& args) {
  constexpr size_t kNr = DotTaps<false>::kNr;
  if (args.channels >= kNr) return DepthwiseI8<DotTaps<false>>(args);
  // Two rows side by side do not pay for their copies.
  3 * args.channels <= kNr ? DepthwiseI8FewChannels<DotTaps<false>>(args)
                           : DepthwiseI8<DotTaps<true>>(args);
}
