#include "kernels/x86/vec_bytes_avx2.h"

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kRows = 16, kRow = 16;  // of the table: the upper half of a place says which row

// A permutation takes a place in a row of the table, and is 0 where its highest bit is set. That it is
// in all rows but one: the upper half less the row, by exclusive or, is above 0 there.
template <int kVectors>
inline void LookUp(const int8_t* table, const int8_t* x, int8_t* y) {
  const __m256i most = _mm256_set1_epi8(0x70);
  F places[kVectors], found[kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    places[v] = Load(x + v * kLanes);
    found[v].v = _mm256_setzero_si256();
  }
  TRIMTAB_NO_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    const auto* from = reinterpret_cast<const __m128i*>(table + r * kRow);
    const __m256i row = _mm256_broadcastsi128_si256(_mm_loadu_si128(from));
    const __m256i upper = _mm256_set1_epi8(static_cast<int8_t>(r * kRow));
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const __m256i place = _mm256_adds_epu8(_mm256_xor_si256(places[v].v, upper), most);
      found[v].v = _mm256_or_si256(found[v].v, _mm256_shuffle_epi8(row, place));
    }
  }
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) Store(y + v * kLanes, found[v]);
}

}  // namespace

extern "C" void look_up_i8_avx2(const LookUpArgs<int8_t>& args) {
  constexpr size_t kFour = 4 * kLanes;
  size_t i = 0;
  for (; i + kFour <= args.n; i += kFour) LookUp<4>(args.table, args.x + i, args.y + i);
  for (; i + kLanes <= args.n; i += kLanes) LookUp<1>(args.table, args.x + i, args.y + i);
  if (i == args.n) return;
  int8_t rest[kLanes];
  Store(rest, LoadPart(args.x + i, args.n - i));
  LookUp<1>(args.table, rest, rest);
  StorePart(args.y + i, Load(rest), args.n - i);
}
