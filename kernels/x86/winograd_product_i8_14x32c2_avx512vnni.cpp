#include "kernels/x86/winograd_product_i8.h"

namespace {

struct PairLanes {
  static constexpr int kMr = 14, kVectors = 2;
  static constexpr size_t kLanes = 16;
  using Vector = __m512i;

  static inline Vector Load(const int16_t* w) { return _mm512_loadu_si512(w); }
  static inline Vector Broadcast(const int16_t* a) {
    int32_t two;
    __builtin_memcpy(&two, a, sizeof(two));
    return _mm512_set1_epi32(two);
  }
  // With the intrinsic, GCC 12 keeps all sums in memory.
  static inline void Add(Vector* sum, Vector w, Vector x) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(*sum) : "v"(w), "v"(x));
  }
  static inline void Store(int32_t* c, Vector sum) { _mm512_storeu_si512(c, sum); }
};

}  // namespace

extern "C" void winograd_product_i8_14x32c2_avx512vnni(const WinogradProductArgs<int8_t>& args) {
  WinogradProduct<PairTile<PairLanes>>(args);
}
