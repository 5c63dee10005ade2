// The frame of the indirect GEMM kernels: panels, choice of the variant, epilogue.
//
// A kernel supplies what multiplies, as a class `Tile` over the primitives of a vec_<isa>.h. It has
// the constants kMr, kNr, kVectors = kNr / kLanes and kNarrow (the vectors of a narrow last panel
// that gets code of its own; 0: none); Smaller(rows), the next smaller number of rows that gets
// code of its own; and Multiply(args, w, sums), which adds the products of all taps of the panel at
// `w` to F sums[rows][vectors].
#ifndef TRIMTAB_KERNELS_GENERIC_GEMM_H_
#define TRIMTAB_KERNELS_GENERIC_GEMM_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// Residual, clamp and store.
template <int kRows, int kVectors>
inline void Finish(const GemmF32Args& args, const float* residual, float* c,
                   F (&sums)[kRows][kVectors]) {
  const F low = Set(args.clamp_min), high = Set(args.clamp_max);
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      F sum = sums[i][v];
      if (residual != nullptr) sum = sum + Load(residual + v * kLanes);
      Store(c + v * kLanes, Min(Max(sum, low), high));
    }
    if (static_cast<size_t>(i) + 1 == args.rows) return;
    if (residual != nullptr) residual += args.residual_stride;
    c += args.c_stride;
  }
}

// The bias of a call that has none.
template <int kCount>
inline const float* Zeros() {
  static const float kZeros[kCount] = {};
  return kZeros;
}

// `count` panels, at least one, side by side. args.rows <= kRows: the rows past them are computed
// from whatever valid pointers stand there, and dropped. A kernel may specialise it.
template <class Tile, int kRows, int kVectors>
void Panels(const GemmF32Args& given, size_t count) {
  const GemmF32Args args = given;  // copies that stores to c cannot change
  const size_t panel_elements = args.taps * args.k * Tile::kNr;
  const size_t bias_step = args.bias != nullptr ? Tile::kNr : 0;
  const float* bias = args.bias != nullptr ? args.bias : Zeros<Tile::kNr>();
  const float *w = args.w, *residual = args.residual;
  float* c = args.c;
  for (;; w += panel_elements, bias += bias_step) {
    F sums[kRows][kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const F start = Load(bias + v * kLanes);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v] = start;
    }
    Tile::Multiply(args, w, sums);
    Finish(args, residual, c, sums);
    if (--count == 0) return;
    c += Tile::kNr;
    if (residual != nullptr) residual += Tile::kNr;
  }
}

// By the smallest variant that holds the rows.
template <class Tile, int kVectors, int kRows = Tile::kMr>
inline void RunPanels(const GemmF32Args& args, size_t count) {
  constexpr int kSmaller = Tile::Smaller(kRows);
  if constexpr (kSmaller > 0) {
    if (args.rows <= kSmaller) return RunPanels<Tile, kVectors, kSmaller>(args, count);
  }
  Panels<Tile, kRows, kVectors>(args, count);
}

// Small C libraries copy byte by byte.
__attribute__((noinline)) void CopyRow(const float* from, float* to, size_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) Store(to, Load(from));
  if (count > 0) StorePart(to, LoadPart(from, count), count);
}

// A panel of which the first `columns` < kNr are used.
template <class Tile>
inline void RunPart(const GemmF32Args& args, size_t columns) {
  if constexpr (Tile::kNarrow > 0) {
    if (columns <= Tile::kNarrow * kLanes) return RunPanels<Tile, Tile::kNarrow>(args, 1);
  }
  RunPanels<Tile, Tile::kVectors>(args, 1);
}

// The same for the last panel, which no memory of c follows. It is computed in whole vectors, since
// the packing pads it, but into a buffer.
template <class Tile>
__attribute__((noinline)) void LastPanel(const GemmF32Args& args, size_t columns) {
  float sums[Tile::kMr * Tile::kNr], residual[Tile::kMr * Tile::kNr];
  GemmF32Args whole = args;
  whole.c = sums;
  whole.c_stride = Tile::kNr;
  if (args.residual != nullptr) {
    for (size_t i = 0; i < args.rows; ++i)
      CopyRow(args.residual + i * args.residual_stride, residual + i * Tile::kNr, columns);
    whole.residual = residual;
    whole.residual_stride = Tile::kNr;
  }
  RunPart<Tile>(whole, columns);
  for (size_t i = 0; i < args.rows; ++i)
    CopyRow(sums + i * Tile::kNr, args.c + i * args.c_stride, columns);
}

// Columns that are no multiple of kNr. Not inlined, as it would burden the usual call.
template <class Tile>
__attribute__((noinline)) void RaggedPanels(const GemmF32Args& args) {
  const size_t whole = args.columns / Tile::kNr, left = args.columns % Tile::kNr;
  if (whole > 0) RunPanels<Tile, Tile::kVectors>(args, whole);
  GemmF32Args last = args;
  const size_t begin = whole * Tile::kNr;
  last.w += begin * args.taps * args.k;
  if (args.bias != nullptr) last.bias += begin;
  if (args.residual != nullptr) last.residual += begin;
  last.c += begin;
  if (left == Tile::kNarrow * kLanes) return RunPart<Tile>(last, left);
  LastPanel<Tile>(last, left);
}

template <class Tile>
inline void Gemm(const GemmF32Args& args) {
  if (args.columns % Tile::kNr != 0) return RaggedPanels<Tile>(args);
  RunPanels<Tile, Tile::kVectors>(args, args.columns / Tile::kNr);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_GEMM_H_
