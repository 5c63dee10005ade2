// The transforms of Winograd convolution of int8 values, over vectors of channels.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_H_

#include "kernels/generic/family.h"
#include "kernels/generic/next_channels.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_i8_lines.h"
#include "kernels/kernel_api.h"

namespace {

TRIMTAB_FAMILY(i8)
inline void WinogradInput(const WinogradInputArgs<Element>& original) {
  constexpr size_t kStep = kMinWinogradChannels;
  typedef int8_t I8Lanes __attribute__((vector_size(kStep)));
  typedef int16_t I16Lanes __attribute__((vector_size(kStep * sizeof(int16_t))));
  const WinogradInputArgs<Element> args = original;  // stores to y might alias it
  for (size_t c = 0; c < args.channels; c = NextChannels<kStep>(c, args.channels)) {
    I16Lanes lines[kLineInputs][kLineInputs];
    const Element* const* a = args.a;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < kLineInputs; ++i, a += kLineInputs) {
      I16Lanes x[kLineInputs];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineInputs; ++j) {
        I8Lanes pixel;
        __builtin_memcpy(&pixel, a[j] + c, sizeof(pixel));
        x[j] = __builtin_convertvector(pixel, I16Lanes);
      }
      IntegerInputLine(x, lines[i]);
    }
    int16_t* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < kLineInputs; ++j, y += args.y_stride) {
      I16Lanes x[kLineInputs], transformed[kLineInputs];
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i) x[i] = lines[i][j];
      IntegerInputLine(x, transformed);
      int16_t* element = y;
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i, element += kLineInputs * args.y_stride)
        __builtin_memcpy(element, &transformed[i], sizeof(I16Lanes));
    }
  }
}

TRIMTAB_FAMILY(i8)
inline void WinogradOutput(const WinogradOutputArgs<Element>& original) {
  constexpr size_t kStep = kLanes / kQuarters;
  typedef uint32_t U32Lanes __attribute__((vector_size(kStep * sizeof(uint32_t))));
  typedef int32_t I32Lanes __attribute__((vector_size(kStep * sizeof(int32_t))));
  static_assert(kQuarters == kLineOutputs, "a vector of bytes holds a line of outputs");
  const WinogradOutputArgs<Element> args = original;  // stores to y might alias it
  const Quantizer quantize(args);
  for (size_t c = 0; c < args.channels; c = NextChannels<kStep>(c, args.channels)) {
    U32Lanes lines[kLineInputs][kLineOutputs];
    const int32_t* column = args.x + c;
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < kLineInputs; ++j, column += args.x_stride) {
      U32Lanes x[kLineInputs];
      const int32_t* element = column;
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i, element += kLineInputs * args.x_stride)
        __builtin_memcpy(&x[i], element, sizeof(U32Lanes));
      IntegerOutputLine(x, lines[j]);
    }
    U32Lanes bias;
    __builtin_memcpy(&bias, args.bias + c, sizeof(bias));
    const F32Vector scale = LoadF32(args.scale + c);
    const F32Vector slope = args.slope == nullptr ? scale : LoadF32(args.slope + c);
    int8_t* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < args.rows; ++i, y += args.row_stride) {
      U32Lanes x[kLineInputs], sums[kLineOutputs];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineInputs; ++j) x[j] = lines[j][i];
      IntegerOutputLine(x, sums);
      F32Vector results[kQuarters];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineOutputs; ++j) {
        const I32Lanes sum = reinterpret_cast<I32Lanes>(sums[j] * kInverseOfNine) >> kShift;
        const U32Lanes biased = reinterpret_cast<U32Lanes>(sum) + bias;
        I32Vector number;
        __builtin_memcpy(&number, &biased, sizeof(number));
        results[j] = ToF32(number) * scale;
      }
      if (args.slope != nullptr) {
        TRIMTAB_UNROLL
        for (auto& result : results) result = Max(result, result * slope);
      }
      alignas(64) int8_t line[kLanes];
      Store(line, quantize(results));
      const auto store = [&](size_t columns) {
        int8_t* pixel = y;
        TRIMTAB_UNROLL
        for (size_t j = 0; j < kLineOutputs && j != columns; ++j, pixel += args.pixel_stride)
          __builtin_memcpy(pixel, line + j * kStep, kStep);
      };
      // Most tiles are complete and need no branches.
      if (args.columns == kLineOutputs) {
        store(kLineOutputs);
      } else {
        store(args.columns);
      }
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_I8_H_
