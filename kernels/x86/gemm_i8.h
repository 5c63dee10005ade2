// The driver of the x86 int8 GEMM kernels: tiles of rows, panels, variants for fewer rows, and the
// epilogue, over the vectors of vec_i8_<isa>.h.
//
// A kernel supplies Tile: the constants kMr, kNr, kVectors = kNr / (kLanes / kQuarters) and
// Smaller(rows), the next smaller number of rows with code of its own, or 0; and, for a tile of
// rows that begins with the pointers `a`,
//
//   Tile(args)                          state that all its panels share
//   PanelBytes(args)                    bytes of a panel's weights
//   Multiply<kRows, kUsed>(args, sums)  bias and products of the first kUsed vectors of a panel;
//                                       Numbers sums[kRows][kUsed]
//   kProductsFit                        whether LimitProducts(sums, scale) makes their products fit
//                                       32 bits, so that none needs a bound; worth its registers if
//                                       there are 32
#ifndef TRIMTAB_KERNELS_X86_GEMM_I8_H_
#define TRIMTAB_KERNELS_X86_GEMM_I8_H_

#include "kernels/generic/short_copy.h"
#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kI32Lanes = kLanes / kQuarters;  // 32-bit values per vector

// Bytes of weights in the order of the depth.
template <size_t kNr>
inline size_t PlainPanelBytes(const GemmArgs<int8_t>& args) {
  return args.taps * args.k * kNr;
}

template <int kRows, int kUsed>
inline void InitializeWithBias(const GemmArgs<int8_t>& args, I32Vector (&sums)[kRows][kUsed]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    I32Vector bias;
    __builtin_memcpy(&bias, args.bias + static_cast<size_t>(v) * kI32Lanes, sizeof(bias));
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) sums[i][v] = bias;
  }
}

// Fewer columns than a panel has; the last word overlaps the previous one.
inline void CopyBytes(int8_t* to, const int8_t* from, size_t count) {
  constexpr size_t kWord = 16;
  if (count <= kWord) return CopyShort(to, from, count);
  for (size_t i = 0; i + kWord < count; i += kWord) __builtin_memcpy(to + i, from + i, kWord);
  __builtin_memcpy(to + count - kWord, from + count - kWord, kWord);
}

// Stores the results of a panel as float32.
template <int kRows, int kUsed>
inline void StoreDequantized(const GemmArgs<int8_t>& args, const I32Vector (&sums)[kRows][kUsed],
                             const F32Vector (&scale)[kUsed], size_t columns) {
  alignas(64) int8_t results[kRows][kUsed * sizeof(F32Vector)];
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const F32Vector part = ToF32(sums[i][v]) * scale[v];
      __builtin_memcpy(results[i] + v * sizeof(F32Vector), &part, sizeof(F32Vector));
    }
  }
  int8_t* c = args.c;
  for (size_t i = 0; i < args.rows; ++i, c += args.c_stride)
    CopyBytes(c, results[i], columns * sizeof(float));
}

// PReLU.
template <int kRows, int kUsed>
inline void ApplySlopes(const float* slopes, F32Vector (&products)[kRows][kUsed]) {
  TRIMTAB_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const F32Vector slope = LoadF32(slopes + static_cast<size_t>(v) * kI32Lanes);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const F32Vector x = products[i][v];
      products[i][v] = Max(x, x * slope);
    }
  }
}

// Computes `columns` columns of one panel, at most kUsed vectors, for args.rows <= kRows rows; rows
// past them are computed from valid pointers and dropped. c and its stride are in bytes, also for
// float32 results.
template <class Tile, int kRows, int kUsed>
__attribute__((noinline)) void Panel(const GemmArgs<int8_t>& args, const Tile& tile,
                                     size_t columns) {
  constexpr int kAll = kRows * kUsed, kGroups = (kAll + kQuarters - 1) / kQuarters;
  I32Vector sums[kRows][kUsed];
  tile.template Multiply<kRows, kUsed>(args, sums);
  F32Vector scale[kUsed];
  TRIMTAB_UNROLL
  for (int v = 0; v < kUsed; ++v)
    scale[v] = LoadF32(args.scale + static_cast<size_t>(v) * kI32Lanes);
  if (args.dequantized != nullptr)
    return StoreDequantized<kRows, kUsed>(args, sums, scale, columns);
  if constexpr (Tile::kProductsFit) Tile::LimitProducts(sums, scale);
  F32Vector products[kRows][kUsed];
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kUsed; ++v) products[i][v] = ToF32(sums[i][v]) * scale[v];
  }
  if (args.slope != nullptr) ApplySlopes(args.slope, products);
  const QuantizerOf<Tile::kProductsFit> quantize(args);
  alignas(64) int8_t results[kGroups * kLanes];
  TRIMTAB_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    F32Vector part[kQuarters];
    TRIMTAB_UNROLL
    for (int q = 0; q < kQuarters; ++q) {
      const int at = g * kQuarters + q < kAll ? g * kQuarters + q : kAll - 1;
      part[q] = products[at / kUsed][at % kUsed];
    }
    Store(results + static_cast<size_t>(g) * kLanes, quantize(part));
  }
  constexpr size_t kWidth = kUsed * kI32Lanes;
  const int8_t* from = results;
  int8_t* c = args.c;
  if (columns == kWidth) {
    for (size_t i = args.rows; i > 0; --i, from += kWidth, c += args.c_stride)
      __builtin_memcpy(c, from, kWidth);
    return;
  }
  for (size_t i = args.rows; i > 0; --i, from += kWidth, c += args.c_stride)
    CopyBytes(c, from, columns);
}

// Calls the smallest variant that holds the rows.
template <class Tile, int kUsed, int kRows = Tile::kMr>
inline void RunPanel(const GemmArgs<int8_t>& args, const Tile& tile, size_t columns) {
  constexpr int kSmaller = Tile::Smaller(kRows);
  if constexpr (kSmaller > 0) {
    if (args.rows <= kSmaller) return RunPanel<Tile, kUsed, kSmaller>(args, tile, columns);
  }
  Panel<Tile, kRows, kUsed>(args, tile, columns);
}

template <class Tile>
inline void GemmI8(const GemmArgs<int8_t>& original) {
  constexpr size_t kMr = Tile::kMr, kNr = Tile::kNr;
  const size_t panel_bytes = Tile::PanelBytes(original);
  const bool is_dequantized = original.dequantized != nullptr;
  const size_t size = is_dequantized ? sizeof(float) : sizeof(int8_t);  // bytes per result
  int8_t* const c = is_dequantized ? reinterpret_cast<int8_t*>(original.dequantized) : original.c;
  GemmArgs<int8_t> args = original;
  args.c_stride *= size;
  for (size_t row = 0; row < original.rows; row += kMr, args.a += original.taps * kMr) {
    const Tile tile(args);
    args.rows = original.rows - row < kMr ? original.rows - row : kMr;
    args.c = c + row * args.c_stride;
    args.w = original.w;
    args.bias = original.bias;
    args.scale = original.scale;
    args.slope = original.slope;
    for (size_t left = original.columns; left > 0;) {
      const size_t columns = left < kNr ? left : kNr;
      left -= columns;
      if (Tile::kVectors == 2 && columns <= kI32Lanes) {
        RunPanel<Tile, 1>(args, tile, columns);
      } else {
        RunPanel<Tile, 2>(args, tile, columns);
      }
      args.w += panel_bytes;
      args.bias += kNr;
      args.scale += kNr;
      if (args.slope != nullptr) args.slope += kNr;
      args.c += kNr * size;
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_GEMM_I8_H_
