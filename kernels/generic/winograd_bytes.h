// The transforms of Winograd convolution of int8 values, over vectors of channels.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_BYTES_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_BYTES_H_

#include "kernels/generic/family.h"
#include "kernels/generic/next_channels.h"
#include "kernels/generic/unroll.h"
#include "kernels/generic/winograd_lines.h"
#include "kernels/kernel_api.h"

namespace {

TRIMTAB_FAMILY(i8)
inline void WinogradInput(const WinogradInputArgs<Element>& original) {
  constexpr size_t kStep = kMinWinogradChannels;
  typedef int8_t Bytes __attribute__((vector_size(kStep)));
  typedef int16_t Shorts __attribute__((vector_size(kStep * sizeof(int16_t))));
  const WinogradInputArgs<Element> args = original;  // stores to y might alias it
  for (size_t c = 0; c < args.channels; c = NextChannels<kStep>(c, args.channels)) {
    Shorts lines[kLineInputs][kLineInputs];
    const Element* const* a = args.a;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < kLineInputs; ++i, a += kLineInputs) {
      Shorts x[kLineInputs];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineInputs; ++j) {
        Bytes pixel;
        __builtin_memcpy(&pixel, a[j] + c, sizeof(pixel));
        x[j] = __builtin_convertvector(pixel, Shorts);
      }
      WholeInputLine(x, lines[i]);
    }
    int16_t* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < kLineInputs; ++j, y += args.y_stride) {
      Shorts x[kLineInputs], transformed[kLineInputs];
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i) x[i] = lines[i][j];
      WholeInputLine(x, transformed);
      int16_t* element = y;
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i, element += kLineInputs * args.y_stride)
        __builtin_memcpy(element, &transformed[i], sizeof(Shorts));
    }
  }
}

TRIMTAB_FAMILY(i8)
inline void WinogradOutput(const WinogradOutputArgs<Element>& original) {
  constexpr size_t kStep = kLanes / kQuarters;
  typedef uint32_t Sums __attribute__((vector_size(kStep * sizeof(uint32_t))));
  typedef int32_t Signed __attribute__((vector_size(kStep * sizeof(int32_t))));
  static_assert(kQuarters == kLineOutputs, "a vector of bytes holds a line of outputs");
  const WinogradOutputArgs<Element> args = original;  // stores to y might alias it
  const Rounding rounded(args);
  for (size_t c = 0; c < args.channels; c = NextChannels<kStep>(c, args.channels)) {
    Sums lines[kLineInputs][kLineOutputs];
    const int32_t* column = args.x + c;
    TRIMTAB_NO_UNROLL
    for (size_t j = 0; j < kLineInputs; ++j, column += args.x_stride) {
      Sums x[kLineInputs];
      const int32_t* element = column;
      TRIMTAB_UNROLL
      for (size_t i = 0; i < kLineInputs; ++i, element += kLineInputs * args.x_stride)
        __builtin_memcpy(&x[i], element, sizeof(Sums));
      WholeOutputLine(x, lines[j]);
    }
    Sums bias;
    __builtin_memcpy(&bias, args.bias + c, sizeof(bias));
    const Reals scale = LoadReals(args.scale + c);
    const Reals slope = args.slope == nullptr ? scale : LoadReals(args.slope + c);
    int8_t* y = args.y + c;
    TRIMTAB_NO_UNROLL
    for (size_t i = 0; i < args.rows; ++i, y += args.row_stride) {
      Sums x[kLineInputs], sums[kLineOutputs];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineInputs; ++j) x[j] = lines[j][i];
      WholeOutputLine(x, sums);
      Reals results[kQuarters];
      TRIMTAB_UNROLL
      for (size_t j = 0; j < kLineOutputs; ++j) {
        const Signed sum = reinterpret_cast<Signed>(sums[j] * kInverseOfNine) >> kShift;
        const Sums biased = reinterpret_cast<Sums>(sum) + bias;
        Numbers number;
        __builtin_memcpy(&number, &biased, sizeof(number));
        results[j] = ToReals(number) * scale;
      }
      if (args.slope != nullptr) {
        TRIMTAB_UNROLL
        for (auto& result : results) result = Max(result, result * slope);
      }
      alignas(64) int8_t line[kLanes];
      Store(line, rounded(results));
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

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_BYTES_H_
