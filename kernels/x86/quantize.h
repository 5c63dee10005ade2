// Quantizes float32 to bytes, over the vectors of vec_i8_<isa>.h.
#ifndef TRIMTAB_KERNELS_X86_QUANTIZE_H_
#define TRIMTAB_KERNELS_X86_QUANTIZE_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

inline void Quantize(const QuantizeArgs<float>& original) {
  constexpr size_t kStep = kLanes / kQuarters;
  // Unsigned bytes are rounded as if 128 less, then their highest bit is flipped.
  const int32_t shift = original.high > INT8_MAX ? 128 : 0;
  QuantizeArgs<float> args = original;
  args.zero_point -= shift;
  args.low -= shift;
  args.high -= shift;
  const Quantizer quantize(args);
  const F32Vector scale = SetF32(args.scale);
  for (size_t left = args.n; left > 0;) {
    const size_t count = left < kLanes ? left : kLanes;
    F32Vector x[kQuarters];
    TRIMTAB_UNROLL
    for (size_t q = 0; q < kQuarters; ++q) {
      const size_t begin = q * kStep, end = begin + kStep;
      x[q] = end <= count    ? LoadF32(args.x + begin)
             : begin < count ? LoadPartialF32(args.x + begin, count - begin)
                             : SetF32(0);
      x[q] = Divide(x[q], scale);
    }
    const F y = Xor(quantize(x), static_cast<int8_t>(shift));
    auto* const to = reinterpret_cast<int8_t*>(args.y);
    if (count == kLanes) {
      Store(to, y);
    } else {
      StorePartial(to, y, count);
    }
    args.x += count;
    args.y += count;
    left -= count;
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_QUANTIZE_H_
