#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/x86/depthwise_i8.h"

namespace {

// Two taps per lane, as 16-bit values.
struct PairTaps {
  static constexpr size_t kNr = 16, kGroup = 2;
  using TapVector = __m256i;
  struct Vectors {
    __m256i v[2];  // channels 0 to 3 and 8 to 11; 4 to 7 and 12 to 15
  };

  explicit PairTaps(size_t) {}

  static TapVector Load(const int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TapVector Weights(const int8_t* p) { return Load(p); }
  static Vectors Interleave(const TapVector (&x)[kGroup]) {
    return {{_mm256_unpacklo_epi16(x[0], x[1]), _mm256_unpackhi_epi16(x[0], x[1])}};
  }
  static void Add(Vectors* sums, const Vectors& x, const Vectors& w) {
    TRIMTAB_UNROLL
    for (int i = 0; i < 2; ++i)
      sums->v[i] = _mm256_add_epi32(sums->v[i], _mm256_madd_epi16(x.v[i], w.v[i]));
  }
  static Vectors Zeros() { return {}; }
  static Vectors LoadVectors(const void* from) {
    const auto* p = static_cast<const __m128i*>(from);
    const __m128i x[4] = {_mm_loadu_si128(p), _mm_loadu_si128(p + 1), _mm_loadu_si128(p + 2),
                          _mm_loadu_si128(p + 3)};
    return {{_mm256_inserti128_si256(_mm256_castsi128_si256(x[0]), x[2], 1),
             _mm256_inserti128_si256(_mm256_castsi128_si256(x[1]), x[3], 1)}};
  }
  static Vectors Start(const int32_t* bias, const Vectors&) { return LoadVectors(bias); }
  static Vectors Scales(const float* scale) { return LoadVectors(scale); }
  static void Finish(const ProductQuantizer& quantize, const Vectors& sums,
                     const ChannelTile<PairTaps>& tile, int8_t* y) {
    const auto dequantized = [](__m256i x) { return F32Vector{_mm256_castsi256_ps(x)}; };
    F32Vector low = ToF32({sums.v[0]}) * dequantized(tile.scale.v[0]);
    F32Vector high = ToF32({sums.v[1]}) * dequantized(tile.scale.v[1]);
    if (tile.has_slope) {
      low = Max(low, low * dequantized(tile.slope.v[0]));
      high = Max(high, high * dequantized(tile.slope.v[1]));
    }
    const __m256i bytes = quantize.Interleaved({low, high, low, high}).v;
    const __m128i both =
        _mm_unpacklo_epi64(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), both);
  }
};

}  // namespace

extern "C" void depthwise_i8_16_avx2(const DepthwiseArgs<int8_t>& args) {
  args.channels < 16 ? DepthwiseI8FewChannels<PairTaps>(args) : DepthwiseI8<PairTaps>(args);
}
