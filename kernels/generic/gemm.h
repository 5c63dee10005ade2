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

// What differs from panel to panel; a bias that is null is zeros, and stays.
struct PanelArgs {
  const float* w;
  const float* bias;
  const float* residual;
  float* c;
  size_t c_stride, residual_stride;
  size_t bias_step;
};

// Residual, clamp and store.
template <int kRows, int kVectors>
inline void Finish(const GemmF32Args& args, const PanelArgs& panel, F (&sums)[kRows][kVectors]) {
  const F low = Set(args.clamp_min), high = Set(args.clamp_max);
  const float* residual = panel.residual;
  float* c = panel.c;
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      F sum = sums[i][v];
      if (residual != nullptr) sum = sum + Load(residual + v * kLanes);
      Store(c + v * kLanes, Min(Max(sum, low), high));
    }
    if (static_cast<size_t>(i) + 1 == args.rows) return;
    if (residual != nullptr) residual += panel.residual_stride;
    c += panel.c_stride;
  }
}

// `count` panels, at least one, side by side. args.rows <= kRows: the rows past them are computed
// from whatever valid pointers stand there, and dropped.
template <class Tile, int kRows, int kVectors>
void Panels(const GemmF32Args& given, const PanelArgs& first, size_t count) {
  const GemmF32Args args = given;  // copies that stores to c cannot change
  PanelArgs panel = first;
  const size_t panel_elements = args.taps * args.k * Tile::kNr;
  for (;; panel.w += panel_elements, panel.bias += panel.bias_step) {
    F sums[kRows][kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const F start = Load(panel.bias + v * kLanes);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v] = start;
    }
    Tile::Multiply(args, panel.w, sums);
    Finish(args, panel, sums);
    if (--count == 0) return;
    panel.c += Tile::kNr;
    if (panel.residual != nullptr) panel.residual += Tile::kNr;
  }
}

using PanelFunction = void (*)(const GemmF32Args&, const PanelArgs&, size_t);

// The smallest variant that holds `rows`.
template <class Tile, int kVectors, int kRows = Tile::kMr>
inline PanelFunction Variant(size_t rows) {
  constexpr int kSmaller = Tile::Smaller(kRows);
  if constexpr (kSmaller > 0) {
    if (rows <= kSmaller) return Variant<Tile, kVectors, kSmaller>(rows);
  }
  return Panels<Tile, kRows, kVectors>;
}

// Small C libraries copy byte by byte.
__attribute__((noinline)) void CopyRow(const float* from, float* to, size_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) Store(to, Load(from));
  if (count > 0) StorePart(to, LoadPart(from, count), count);
}

template <class Tile>
inline void Gemm(const GemmF32Args& args) {
  constexpr size_t kNr = Tile::kNr;
  static const float kZeros[kNr] = {};
  const bool has_bias = args.bias != nullptr;
  PanelFunction run = Variant<Tile, Tile::kVectors>(args.rows);
  PanelArgs panel = {args.w,        has_bias ? args.bias : kZeros, args.residual,     args.c,
                     args.c_stride, args.residual_stride,          has_bias ? kNr : 0};
  const size_t whole = args.columns / kNr, left = args.columns % kNr;
  if (whole > 0) run(args, panel, whole);
  if (left == 0) return;
  panel.w += whole * args.taps * args.k * kNr;
  panel.bias += whole * panel.bias_step;
  panel.c += whole * kNr;
  if (panel.residual != nullptr) panel.residual += whole * kNr;
  if constexpr (Tile::kNarrow > 0) {
    if (left <= Tile::kNarrow * kLanes) run = Variant<Tile, Tile::kNarrow>(args.rows);
    if (left == Tile::kNarrow * kLanes) {
      run(args, panel, 1);
      return;
    }
  }
  // The last panel is narrower than the code. It is computed in whole vectors, since the packing
  // pads it, but into a buffer.
  float sums[Tile::kMr * kNr], residual[Tile::kMr * kNr];
  PanelArgs last = panel;
  last.c = sums;
  last.c_stride = kNr;
  if (panel.residual != nullptr) {
    for (size_t i = 0; i < args.rows; ++i)
      CopyRow(panel.residual + i * panel.residual_stride, residual + i * kNr, left);
    last.residual = residual;
    last.residual_stride = kNr;
  }
  run(args, last, 1);
  for (size_t i = 0; i < args.rows; ++i)
    CopyRow(sums + i * kNr, panel.c + i * panel.c_stride, left);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_GEMM_H_
