#include <arm_neon.h>

#include "kernels/kernel_api.h"

namespace {

// An index outside of a quarter of the table keeps the result of another quarter.
inline uint8x16_t LookUp(const uint8x16x4_t (&table)[4], uint8x16_t x) {
  const uint8x16_t quarter = vdupq_n_u8(64), half = vdupq_n_u8(128);
  uint8x16_t y = vqtbl4q_u8(table[0], x);
  y = vqtbx4q_u8(y, table[1], veorq_u8(x, quarter));
  const uint8x16_t back = veorq_u8(x, half);
  y = vqtbx4q_u8(y, table[2], back);
  return vqtbx4q_u8(y, table[3], veorq_u8(back, quarter));
}

}  // namespace

extern "C" void look_up_i8_neon(const LookUpArgs<int8_t>& args) {
  const auto* x = reinterpret_cast<const uint8_t*>(args.x);
  const auto* all = reinterpret_cast<const uint8_t*>(args.table);
  auto* y = reinterpret_cast<uint8_t*>(args.y);
  const uint8x16x4_t table[4] = {vld1q_u8_x4(all), vld1q_u8_x4(all + 64), vld1q_u8_x4(all + 128),
                                 vld1q_u8_x4(all + 192)};
  size_t n = args.n;
  for (; n >= 16; n -= 16, x += 16, y += 16) vst1q_u8(y, LookUp(table, vld1q_u8(x)));
  for (; n > 0; --n) *y++ = all[*x++];
}
