#include "kernels/x86/vec_pixels_avx512.h"

#include "kernels/generic/camera_row.h"

namespace {

// The smallest and the largest of 16 offsets.
struct Range {
  int32_t low, high;

  explicit Range(__m512i offsets)
      : low(_mm512_reduce_min_epi32(offsets)), high(_mm512_reduce_max_epi32(offsets)) {}
  // Whether the bytes between fit two registers, which a permutation reads.
  bool fits() const { return high - low < 128; }
};

// The bytes of a row at `places` behind the lowest offset, where `mask` has a bit; else 0.
inline __m512i Pick(const uint8_t* row, Range range, __mmask64 mask, __m512i places) {
  const auto count = static_cast<uint32_t>(range.high - range.low) + 1;
  const __mmask64 all = ~__mmask64{0};
  const __mmask64 first = count < 64 ? all >> (64 - count) : all;
  const __mmask64 last = count > 64 ? all >> (128 - count) : 0;
  const uint8_t* const from = row + range.low;
  return _mm512_maskz_permutex2var_epi8(mask, _mm512_maskz_loadu_epi8(first, from), places,
                                        _mm512_maskz_loadu_epi8(last, from + 64));
}

// As GatherPixels, for 16 pixels whose bytes are near each other; else returns false.
inline bool GatherNear(const CameraRowArgs<uint8_t>& args, size_t i) {
  const __m512i first = _mm512_loadu_si512(args.offsets[0] + i);
  const __m512i others = _mm512_loadu_si512(args.offsets[1] + i);
  const Range of_first(first), of_others(others);
  if (!of_first.fits() || !of_others.fits()) return false;
  const __m512i place0 = _mm512_sub_epi32(first, _mm512_set1_epi32(of_first.low));
  const __m512i place1 = _mm512_sub_epi32(others, _mm512_set1_epi32(of_others.low));
  const __m512i places = _mm512_or_si512(
      place0, _mm512_or_si512(_mm512_slli_epi32(place1, 8), _mm512_slli_epi32(place1, 16)));
  const __mmask64 lowest = 0x1111111111111111;
  const __m512i byte0 = Pick(args.rows[0], of_first, lowest, places);
  const __m512i byte1 = Pick(args.rows[1], of_others, lowest << 1, places);
  const __m512i byte2 = Pick(args.rows[2], of_others, lowest << 2, places);
  _mm512_storeu_si512(args.words + i, _mm512_or_si512(byte0, _mm512_or_si512(byte1, byte2)));
  return true;
}

}  // namespace

extern "C" void camera_row_u8_avx512vbmi(const CameraRowArgs<uint8_t>& args) {
  for (size_t i = 0; i < args.taps * args.n; i += kLanes) {
    if (!GatherNear(args, i)) GatherPixels(args, i, i + kLanes);
  }
  AddWords(args);
}
