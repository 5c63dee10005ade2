#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/gemm_broadcast.h"

namespace {

// Half a vector takes half the time where 512-bit vectors are computed in two halves (Zen 4), and
// never more than a whole one.
struct Narrow {
  __m256 v;
};
inline Narrow operator+(Narrow a, Narrow b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Narrow Fma(Narrow a, Narrow b, Narrow c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Narrow Max(Narrow a, Narrow b) { return {_mm256_max_ps(b.v, a.v)}; }
inline Narrow Min(Narrow a, Narrow b) { return {_mm256_min_ps(b.v, a.v)}; }
inline void Store(float* p, Narrow a) { _mm256_storeu_ps(p, a.v); }
template <>
inline Narrow LoadAs<Narrow>(const float* p) {
  return {_mm256_loadu_ps(p)};
}
template <>
inline Narrow SetAs<Narrow>(float x) {
  return {_mm256_set1_ps(x)};
}

}  // namespace

// 28 of 32 registers hold sums: 28 FMA per 2 + 14 loads.
extern "C" void gemm_f32_14x32_avx512(const GemmArgs<float>& args) {
  Gemm<BroadcastTile<14, 32, Narrow>>(args);
}
