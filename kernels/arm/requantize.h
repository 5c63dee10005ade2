// Requantizes int32 sums to int8 values, 16 at a time.
#ifndef TRIMTAB_KERNELS_ARM_REQUANTIZE_H_
#define TRIMTAB_KERNELS_ARM_REQUANTIZE_H_

#include "kernels/arm/neon.h"
#include "kernels/kernel_api.h"

namespace {

struct Limits {
  int16x8_t zero_point;
  int8x16_t low, high;

  Limits(int32_t zero_point_of_y, int32_t low_of_y, int32_t high_of_y)
      : zero_point(vdupq_n_s16(static_cast<int16_t>(zero_point_of_y))),
        low(vdupq_n_s8(static_cast<int8_t>(low_of_y))),
        high(vdupq_n_s8(static_cast<int8_t>(high_of_y))) {}
  template <typename Args>
  explicit Limits(const Args& args) : Limits(args.zero_point, args.low, args.high) {}

  // Narrows rounded values without the zero point, with saturation.
  int8x16_t Narrow(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) const {
    const int16x8_t first = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), zero_point);
    const int16x8_t last = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(c), d), zero_point);
    return vminq_s8(vmaxq_s8(vqmovn_high_s16(vqmovn_s16(first), last), low), high);
  }
};

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_REQUANTIZE_H_
