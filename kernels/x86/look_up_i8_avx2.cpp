#include "kernels/x86/vec_i8_avx2.h"

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kRows = 16, kRow = 16;  // of the table: the upper half of an index selects the row

// The value that each row of the table contributes by exclusive or: its difference to the previous
// row, and to the contribution of eight rows before, because an index receives contributions of the
// last eight rows up to its own only.
struct Differences {
  __m256i row[kRows];

  explicit Differences(const int8_t* table) {
    __m256i before = _mm256_setzero_si256();
    for (size_t r = 0; r < kRows; ++r) {
      const auto* from = reinterpret_cast<const __m128i*>(table + r * kRow);
      const __m256i now = _mm256_broadcastsi128_si256(_mm_loadu_si128(from));
      row[r] = _mm256_xor_si256(now, before);
      if (r >= kRows / 2) row[r] = _mm256_xor_si256(row[r], row[r - kRows / 2]);
      before = now;
    }
  }
};

// A byte shuffle selects by the lower half of an index and returns 0 if its highest bit is set.
// Indices decrease by 16 per row: then those of earlier rows are negative, and so are, at first,
// those of eight rows ahead or more.
template <int kVectors>
inline void LookUp(const Differences& differences, const int8_t* x, int8_t* y) {
  const __m256i step = _mm256_set1_epi8(kRow);
  F indices[kVectors], results[kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    indices[v] = Load(x + v * kLanes);
    results[v].v = _mm256_shuffle_epi8(differences.row[0], indices[v].v);
  }
  const auto apply_row = [&](size_t r, auto subtract) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      indices[v].v = subtract(indices[v].v, step);
      results[v].v =
          _mm256_xor_si256(results[v].v, _mm256_shuffle_epi8(differences.row[r], indices[v].v));
    }
  };
  TRIMTAB_NO_UNROLL
  for (size_t r = 1; r <= kRows / 2; ++r)
    apply_row(r, [](__m256i a, __m256i b) { return _mm256_sub_epi8(a, b); });
  TRIMTAB_NO_UNROLL
  for (size_t r = kRows / 2 + 1; r < kRows; ++r)
    apply_row(r, [](__m256i a, __m256i b) { return _mm256_subs_epi8(a, b); });
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) Store(y + v * kLanes, results[v]);
}

}  // namespace

extern "C" void look_up_i8_avx2(const LookUpArgs<int8_t>& args) {
  constexpr size_t kFour = 4 * kLanes;
  const Differences differences(args.table);
  size_t i = 0;
  for (; i + kFour <= args.n; i += kFour) LookUp<4>(differences, args.x + i, args.y + i);
  for (; i + kLanes <= args.n; i += kLanes) LookUp<1>(differences, args.x + i, args.y + i);
  if (i == args.n) return;
  int8_t rest[kLanes];
  Store(rest, LoadPartial(args.x + i, args.n - i));
  LookUp<1>(differences, rest, rest);
  StorePartial(args.y + i, Load(rest), args.n - i);
}
