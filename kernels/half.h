// IEEE 754 binary16: an element type of 16 bits that is computed in float, unless a kernel uses
// instructions for it.
#ifndef TRIMTAB_KERNELS_HALF_H_
#define TRIMTAB_KERNELS_HALF_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Kernel files have different compiler flags, so no function here may be shared by the linker.
#define TRIMTAB_INLINE inline __attribute__((always_inline))

namespace trimtab {

TRIMTAB_INLINE uint32_t FloatBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TRIMTAB_INLINE float FloatFromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

TRIMTAB_INLINE float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 0x3FF;
  if (exponent == 31) return FloatFromBits(sign | 0x7F800000 | fraction << 13);
  if (exponent != 0) return FloatFromBits(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even.
TRIMTAB_INLINE uint16_t HalfFromFloat(float value) {
  const uint32_t bits = FloatBits(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  uint32_t half;
  if (magnitude > 0x7F800000) {
    half = 0x7E00;  // NaN
  } else if (magnitude >= 0x477FF000) {
    half = 0x7C00;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000) {
    // Below 2^-14: floats in [0.5, 1) have the spacing of subnormal halves, so the addition rounds
    // correctly.
    half = FloatBits(FloatFromBits(magnitude) + 0.5f) - FloatBits(0.5f);
  } else {
    half = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace trimtab

// The element type f16. Trivial, so that arrays can be read from files and left uninitialized.
struct Half {
  uint16_t bits;

  Half() = default;
#if defined(__aarch64__)
  TRIMTAB_INLINE Half(float value) {  // NOLINT(google-explicit-constructor): rounds as stores do
    const __fp16 half = static_cast<__fp16>(value);
    memcpy(&bits, &half, sizeof(bits));
  }
  TRIMTAB_INLINE operator float() const {  // NOLINT(google-explicit-constructor): exact
    __fp16 half;
    memcpy(&half, &bits, sizeof(half));
    return static_cast<float>(half);
  }
#else
  TRIMTAB_INLINE Half(float value)  // NOLINT(google-explicit-constructor): rounds as stores do
      : bits(trimtab::HalfFromFloat(value)) {}
  TRIMTAB_INLINE operator float() const {  // NOLINT(google-explicit-constructor): exact
    return trimtab::FloatFromHalf(bits);
  }
#endif
};
static_assert(sizeof(Half) == 2, "an element of f16 is 16 bits");

namespace trimtab {

constexpr size_t kExpandedHalves = 16;

#if defined(__aarch64__)
// Converts kExpandedHalves elements.
TRIMTAB_INLINE void ExpandHalves(float* to, const Half* from) {
  typedef __fp16 Halves __attribute__((vector_size(kExpandedHalves * sizeof(Half))));
  typedef float Floats __attribute__((vector_size(kExpandedHalves * sizeof(float))));
  Halves halves;
  memcpy(&halves, from, sizeof(halves));
  const Floats floats = __builtin_convertvector(halves, Floats);
  memcpy(to, &floats, sizeof(floats));
}
#else
// Converts kExpandedHalves elements, branch-free.
TRIMTAB_INLINE void ExpandHalves(float* to, const Half* from) {
  constexpr size_t kStep = 4;
  typedef float Floats __attribute__((vector_size(kStep * sizeof(float))));
  typedef uint32_t Words __attribute__((vector_size(kStep * sizeof(uint32_t))));
  for (size_t i = 0; i < kExpandedHalves; i += kStep, from += kStep, to += kStep) {
    const Words half = {from[0].bits, from[1].bits, from[2].bits, from[3].bits};
    const Words magnitude = half & 0x7FFF, shifted = magnitude << 13;
    // Subnormal halves: in [2^-14, 2^-13) they have the spacing of floats with shorter fractions.
    const Floats below = reinterpret_cast<Floats>(shifted + (113u << 23)) - 0x1p-14f;
    const Words subnormal = reinterpret_cast<Words>(magnitude < 0x400);
    const Words infinite = reinterpret_cast<Words>(magnitude >= 0x7C00) & 0x7F800000;
    const Words normal = (shifted + (112u << 23)) | infinite;
    const Words bits = (subnormal & reinterpret_cast<Words>(below)) | (~subnormal & normal);
    const Words signed_bits = bits | (half & 0x8000) << 16;
    memcpy(to, &signed_bits, sizeof(signed_bits));
  }
}
#endif

}  // namespace trimtab

#undef TRIMTAB_INLINE

#endif  // TRIMTAB_KERNELS_HALF_H_
