#include "kernels/x86/vec_avx512.h"

#include "kernels/generic/softmax_terms.h"

namespace {

// The last elements of a row, one to a vector, and -inf, which affects neither the maximum nor the
// sum of exponentials.
inline F LoadEnd(const float* x, __mmask16 mask) {
  return {_mm512_mask_loadu_ps(Set(-__builtin_inff()).v, mask, x)};
}

}  // namespace

// Ends of rows by masks: through a buffer, they take as long as five vectors.
extern "C" void softmax_f32_avx512(const SoftmaxArgs<float>& args) {
  constexpr size_t kBlock =
      32 * kLanes;  // bounds the rounding error, as in kernels/generic/softmax.h
  if (args.n == 0) return;
  const size_t end = (args.n - 1) / kLanes * kLanes;
  const __mmask16 mask = PartialMask(args.n - end);
  F maximum = LoadEnd(args.x + end, mask);
  for (size_t i = 0; i < end; i += kLanes) maximum = Max(Load(args.x + i), maximum);
  const SoftmaxTerms terms(Set(_mm512_reduce_max_ps(maximum.v)));
  F term = terms.Of(LoadEnd(args.x + end, mask)), sum = term;
  _mm512_mask_storeu_ps(args.y + end, mask, term.v);
  for (size_t block = 0; block < end; block += kBlock) {
    const size_t stop = end - block < kBlock ? end : block + kBlock;
    F partial = Set(0.0f);
    for (size_t i = block; i < stop; i += kLanes) {
      term = terms.Of(Load(args.x + i));
      partial = partial + term;
      Store(args.y + i, term);
    }
    sum = sum + partial;
  }
  const F scale = Set(1.0f / _mm512_reduce_add_ps(sum.v));
  for (size_t i = 0; i < end; i += kLanes) Store(args.y + i, Load(args.y + i) * scale);
  _mm512_mask_storeu_ps(args.y + end, mask,
                        (F{_mm512_maskz_loadu_ps(mask, args.y + end)} * scale).v);
}
