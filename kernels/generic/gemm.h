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

// What differs from panel to panel.
struct PanelArgs {
  const float* w;
  const float* bias;
  const float* residual;
  float* c;
  size_t c_stride, residual_stride;
};

// args.rows <= kRows: the rows past them are computed from whatever valid pointers stand there, and
// dropped.
template <class Tile, int kRows, int kVectors>
void Panel(const GemmF32Args& args, const PanelArgs& panel) {
  F sums[kRows][kVectors];
  TRIMTAB_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const F start = panel.bias != nullptr ? Load(panel.bias + v * kLanes) : Set(0.0f);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) sums[i][v] = start;
  }
  Tile::Multiply(args, panel.w, sums);
  const F low = Set(args.clamp_min), high = Set(args.clamp_max);
  const float* residual = panel.residual;
  float* c = panel.c;
  const size_t rows = args.rows, c_stride = panel.c_stride, residual_stride = panel.residual_stride;
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      F sum = sums[i][v];
      if (residual != nullptr) sum = sum + Load(residual + v * kLanes);
      Store(c + v * kLanes, Min(Max(sum, low), high));
    }
    if (static_cast<size_t>(i) + 1 == rows) return;
    if (residual != nullptr) residual += residual_stride;
    c += c_stride;
  }
}

using PanelFunction = void (*)(const GemmF32Args&, const PanelArgs&);

// The smallest variant that holds `rows`.
template <class Tile, int kVectors, int kRows = Tile::kMr>
inline PanelFunction Variant(size_t rows) {
  constexpr int kSmaller = Tile::Smaller(kRows);
  if constexpr (kSmaller > 0) {
    if (rows <= kSmaller) return Variant<Tile, kVectors, kSmaller>(rows);
  }
  return Panel<Tile, kRows, kVectors>;
}

// Small C libraries copy byte by byte.
__attribute__((noinline)) void CopyRow(const float* from, float* to, size_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) Store(to, Load(from));
  if (count > 0) StorePart(to, LoadPart(from, count), count);
}

template <class Tile>
inline void Gemm(const GemmF32Args& args) {
  constexpr size_t kNr = Tile::kNr;
  PanelFunction run = Variant<Tile, Tile::kVectors>(args.rows);
  PanelArgs panel = {args.w, args.bias, args.residual, args.c, args.c_stride, args.residual_stride};
  size_t left = args.columns;
  for (; left >= kNr; left -= kNr) {
    run(args, panel);
    panel.w += args.taps * args.k * kNr;
    panel.c += kNr;
    if (panel.bias != nullptr) panel.bias += kNr;
    if (panel.residual != nullptr) panel.residual += kNr;
  }
  if (left == 0) return;
  if constexpr (Tile::kNarrow > 0) {
    if (left <= Tile::kNarrow * kLanes) run = Variant<Tile, Tile::kNarrow>(args.rows);
    if (left == Tile::kNarrow * kLanes) {
      run(args, panel);
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
  run(args, last);
  for (size_t i = 0; i < args.rows; ++i)
    CopyRow(sums + i * kNr, panel.c + i * panel.c_stride, left);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_GEMM_H_
