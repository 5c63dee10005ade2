#include "kernels/x86/vec_u8_avx512.h"

#include "kernels/generic/camera_row.h"

namespace {

constexpr int32_t kWindow = 128;  // bytes of two registers, from which a permutation picks

inline int32_t Minimum(int32_t a, int32_t b) { return a < b ? a : b; }
inline int32_t Maximum(int32_t a, int32_t b) { return a > b ? a : b; }

// Finds the windows with the bytes of 16 pixels each, all of which lie in a row.
class PixelWindows {
 public:
  // `offsets`: those of a tap, which rise or fall. A byte behind each is read, too, if it is `wide`.
  PixelWindows(const int32_t* offsets, size_t n, int32_t wide)
      : offsets_(offsets), wide_(wide), end_(Maximum(offsets[0], offsets[n - 1]) + wide + 1) {
    const int32_t size = end_ - Minimum(offsets[0], offsets[n - 1]);
    are_usable_ = size >= kWindow && static_cast<size_t>(size) * kLanes <= n * kWindow;
  }
  // Whether 16 pixels fit a window, if all are equally far apart.
  bool are_usable() const { return are_usable_; }
  // Sets the begin of the window of the pixels from i on; false if they are too far apart.
  bool Find(size_t i, int32_t* begin) const {
    const int32_t a = offsets_[i], b = offsets_[i + kLanes - 1];
    *begin = Minimum(Minimum(a, b), end_ - kWindow);
    return Maximum(a, b) + wide_ - *begin < kWindow;
  }

 private:
  const int32_t* offsets_;
  int32_t wide_, end_;
  bool are_usable_;
};

inline __m512i PermuteBytes(const uint8_t* window, __m512i indices) {
  return _mm512_permutex2var_epi8(_mm512_loadu_si512(window), indices,
                                  _mm512_loadu_si512(window + kWindow / 2));
}

// Writes the words of the pixels of a tap, whose first is pixel `tap`.
inline void GatherTap(const CameraRowArgs<uint8_t>& args, size_t tap) {
  const int32_t *const first = args.offsets[0] + tap, *const others = args.offsets[1] + tap;
  const uint8_t *const row0 = args.rows[0], *const row1 = args.rows[1], *const row2 = args.rows[2];
  uint32_t* const words = args.words + tap;
  const bool are_pairs = row2 == row1 + 1;
  const PixelWindows of_first(first, args.n, 0), of_others(others, args.n, are_pairs ? 1 : 0);
  if (!of_first.are_usable() || !of_others.are_usable())
    return GatherPixels(args, tap, tap + args.n);
  const __mmask64 lowest = 0x1111111111111111;
  // The indices of bytes 1 and 2; those of a pair lie in one window.
  const __m512i two = _mm512_set1_epi32(are_pairs ? 0x10000 : 0);
  for (size_t i = 0; i < args.n; i += kLanes) {
    int32_t begin0, begin1;
    if (!of_first.Find(i, &begin0) || !of_others.Find(i, &begin1)) {
      GatherPixels(args, tap + i, tap + i + kLanes);
      continue;
    }
    const __m512i index0 =
        _mm512_sub_epi32(_mm512_loadu_si512(first + i), _mm512_set1_epi32(begin0));
    const __m512i index1 =
        _mm512_sub_epi32(_mm512_loadu_si512(others + i), _mm512_set1_epi32(begin1));
    const __m512i indices = _mm512_add_epi32(
        _mm512_or_si512(_mm512_slli_epi32(index1, 8), _mm512_slli_epi32(index1, 16)), two);
    __m512i word = PermuteBytes(row1 + begin1, indices);
    if (!are_pairs)
      word = _mm512_mask_mov_epi8(word, lowest << 2, PermuteBytes(row2 + begin1, indices));
    word = _mm512_mask_mov_epi8(word, lowest, PermuteBytes(row0 + begin0, index0));
    word = _mm512_maskz_mov_epi8(~(lowest << 3), word);
    _mm512_storeu_si512(words + i, word);
  }
}

}  // namespace

extern "C" void camera_row_u8_avx512vbmi(const CameraRowArgs<uint8_t>& args) {
  for (size_t t = 0; t < args.taps && args.n > 0; ++t) GatherTap(args, t * args.n);
  AddWords(args);
}
