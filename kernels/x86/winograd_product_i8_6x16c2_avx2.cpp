#include "kernels/x86/winograd_product_i8.h"

namespace {

struct PairLanes {
  static constexpr int kMr = 6, kVectors = 2;
  static constexpr size_t kLanes = 8;
  using Vector = __m256i;

  static inline Vector Load(const int16_t* w) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
  }
  static inline Vector Broadcast(const int16_t* a) {
    int32_t two;
    __builtin_memcpy(&two, a, sizeof(two));
    return _mm256_set1_epi32(two);
  }
  static inline void Add(Vector* sum, Vector w, Vector x) {
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(w, x));
  }
  static inline void Store(int32_t* c, Vector sum) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c), sum);
  }
};

}  // namespace

extern "C" void winograd_product_i8_6x16c2_avx2(const WinogradProductArgs<int8_t>& args) {
  WinogradProduct<PairTile<PairLanes>>(args);
}
