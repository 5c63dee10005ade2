// Rounds to integers, half to even, without an instruction for it.
#ifndef TRIMTAB_KERNELS_GENERIC_ROUNDING_H_
#define TRIMTAB_KERNELS_GENERIC_ROUNDING_H_

#include <stdint.h>

namespace {

// |x| <= 2^22: the last bit of the sum has the value 1, so the addition rounds, and the integer is
// in its last bits. The bounds are applied first, because they are integers; NaN becomes `low`.
inline int32_t RoundBetween(float x, float low, float high) {
  x = x > low ? x : low;
  x = x < high ? x : high;
  const float sum = x + 0x1.8p23f;
  int32_t bits;
  __builtin_memcpy(&bits, &sum, sizeof(bits));
  return bits - 0x4b400000;
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_ROUNDING_H_
