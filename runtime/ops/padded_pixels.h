// A copy of an image with a padding behind every pixel, which avoids cache conflicts.
#ifndef TRIMTAB_OPS_PADDED_PIXELS_H_
#define TRIMTAB_OPS_PADDED_PIXELS_H_

#include "runtime/core/copy.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Bytes of the copy of `x` with `padding` elements of T behind every pixel; 0: no copy.
template <typename T>
uint64_t PaddedPixelsBytes(const Tensor& x, int64_t padding) {
  const int64_t copied = padding == 0 ? 0 : x.Count() / x.c() * (x.c() + padding);
  return static_cast<uint64_t>(copied) * sizeof(T);
}

// Writes the copy; returns `to`. Inlined: a binary rarely has several operators that call it.
template <typename T>
__attribute__((always_inline)) inline const T* PadPixels(const Tensor& x, size_t padding, T* to,
                                                         ThreadPool& pool) {
  const size_t channels = static_cast<size_t>(x.c()), pixels = x.Count() / channels;
  pool.For(pixels, channels, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i)
      Copy(to + i * (channels + padding), x.data<T>() + i * x.pixel_stride(), channels * sizeof(T));
  });
  return to;
}

}  // namespace trimtab

#endif  // TRIMTAB_OPS_PADDED_PIXELS_H_
