// The driver of indirect GEMM kernels: panels, choice of the variant, epilogue.
//
// A kernel supplies the inner loop as a class `Tile` over the primitives of a vec_<isa>.h: the
// constants kMr, kNr, kVectors = kNr / kLanes and kNarrow (vectors of a narrow last panel with code
// of its own; 0: none); Narrow, a shorter vector for the remaining columns, or F; Smaller(rows,
// vectors), the next smaller number of rows with code of its own, or 0; and Multiply(args, w,
// sums), which adds the products of all taps of the panel at `w` to V sums[rows][vectors] of F or
// Narrow.
#ifndef TRIMTAB_KERNELS_GENERIC_GEMM_H_
#define TRIMTAB_KERNELS_GENERIC_GEMM_H_

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

// The primitives by vector type; a kernel whose Narrow is not F specializes them.
template <class V>
constexpr size_t kLanesOf = sizeof(V) / sizeof(Element);
template <class V>
inline V LoadAs(const Element* p) {
  return Load(p);
}
template <class V>
inline V SetAs(float x) {
  return Set(x);
}

// Epilogue: residual, clamp and store.
template <class V, int kRows, int kVectors>
inline void ApplyEpilogue(const GemmArgs<Element>& args, const Element* residual, Element* c,
                          V (&sums)[kRows][kVectors]) {
  constexpr size_t kStep = kLanesOf<V>;
  const V low = SetAs<V>(args.clamp_min), high = SetAs<V>(args.clamp_max);
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V sum = sums[i][v];
      if (residual != nullptr) sum = sum + LoadAs<V>(residual + v * kStep);
      Store(c + v * kStep, Min(Max(sum, low), high));
    }
    if (static_cast<size_t>(i) + 1 == args.rows) return;
    if (residual != nullptr) residual += args.residual_stride;
    c += args.c_stride;
  }
}

// The bias of a call without one.
template <int kCount>
inline const Element* Zeros() {
  static const Element kZeros[kCount] = {};
  return kZeros;
}

// Advances past `rows` rows, whole tiles.
inline void SkipRows(GemmArgs<Element>& args, size_t rows) {
  args.rows -= rows;
  args.a += rows * args.taps;
  args.c += rows * args.c_stride;
  if (args.residual != nullptr) args.residual += rows * args.residual_stride;
}

// Computes `count` >= 1 neighboring panels of one tile. args.rows <= kRows: rows past them are
// computed from valid pointers and dropped.
template <class Tile, int kRows, int kVectors, class V>
inline void TilePanels(const GemmArgs<Element>& args, size_t count) {
  const size_t panel_elements = args.taps * args.k * Tile::kNr;
  const size_t bias_step = args.bias != nullptr ? Tile::kNr : 0;
  const Element* bias = args.bias != nullptr ? args.bias : Zeros<Tile::kNr>();
  const Element *w = args.w, *residual = args.residual;
  Element* c = args.c;
  for (;; w += panel_elements, bias += bias_step) {
    V sums[kRows][kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const V start = LoadAs<V>(bias + v * kLanesOf<V>);
      TRIMTAB_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i][v] = start;
    }
    Tile::Multiply(args, w, sums);
    ApplyEpilogue(args, residual, c, sums);
    if (--count == 0) return;
    c += Tile::kNr;
    if (residual != nullptr) residual += Tile::kNr;
  }
}

// The same for a tile of fewer than kMr rows, or for any number of whole tiles. A kernel may
// specialize it. Not inlined, because it has several callers.
template <class Tile, int kRows, int kVectors, class V = F>
__attribute__((noinline)) void Panels(const GemmArgs<Element>& original, size_t count) {
  GemmArgs<Element> args = original;  // stores to c might alias it
  for (;;) {
    TilePanels<Tile, kRows, kVectors, V>(args, count);
    if (kRows < Tile::kMr || args.rows <= Tile::kMr) return;
    SkipRows(args, Tile::kMr);
  }
}

// Computes one tile with the smallest variant that holds its rows.
template <class Tile, int kVectors, class V = F, int kRows = Tile::kMr>
inline void RunPanels(const GemmArgs<Element>& args, size_t count) {
  constexpr int kSmaller = Tile::Smaller(kRows, kVectors);
  if constexpr (kSmaller > 0) {
    if (args.rows <= kSmaller) return RunPanels<Tile, kVectors, V, kSmaller>(args, count);
  }
  Panels<Tile, kRows, kVectors, V>(args, count);
}

// Any number of rows: whole tiles, then one for the remainder.
template <class Tile, int kVectors, class V = F>
inline void RunRows(const GemmArgs<Element>& args, size_t count) {
  const size_t left = args.rows % Tile::kMr;
  if (left == 0) return Panels<Tile, Tile::kMr, kVectors, V>(args, count);
  GemmArgs<Element> part = args;
  part.rows -= left;
  if (part.rows > 0) Panels<Tile, Tile::kMr, kVectors, V>(part, count);
  SkipRows(part, part.rows);
  part.rows = left;
  RunPanels<Tile, kVectors, V>(part, count);
}

// Copies a matrix; small C libraries copy one byte at a time.
__attribute__((noinline)) void CopyRows(const Element* from, size_t from_stride, Element* to,
                                        size_t to_stride, size_t rows, size_t columns) {
  for (; columns >= kLanes; columns -= kLanes, from += kLanes, to += kLanes) {
    for (size_t i = 0; i < rows; ++i) Store(to + i * to_stride, Load(from + i * from_stride));
  }
  if (columns == 0) return;
  for (size_t i = 0; i < rows; ++i)
    StorePartial(to + i * to_stride, LoadPartial(from + i * from_stride, columns), columns);
}

// The arguments for the columns from `begin` on, whose weights start `w_begin` further.
inline GemmArgs<Element> FromColumn(const GemmArgs<Element>& args, size_t begin, size_t w_begin) {
  GemmArgs<Element> rest = args;
  rest.w += w_begin;
  if (args.bias != nullptr) rest.bias += begin;
  if (args.residual != nullptr) rest.residual += begin;
  rest.c += begin;
  return rest;
}

// Number of columns of a panel that are computed for the first `columns` < kNr.
template <class Tile>
constexpr size_t ComputedWidth(size_t columns) {
  constexpr size_t kNarrow = Tile::kNarrow * kLanes, kHalf = kLanesOf<typename Tile::Narrow>;
  if (kHalf < kLanes && columns <= kHalf) return kHalf;
  if (columns <= kNarrow) return kNarrow;
  if (kHalf < kLanes && columns <= kNarrow + kHalf) return kNarrow + kHalf;
  return Tile::kNr;
}

// Computes the first `width` columns of a panel; `width`: a value of ComputedWidth() less than kNr.
template <class Tile>
inline void RunPartialPanel(const GemmArgs<Element>& args, size_t width) {
  using Narrow = typename Tile::Narrow;
  constexpr size_t kNarrow = Tile::kNarrow * kLanes, kHalf = kLanesOf<Narrow>;
  if constexpr (kNarrow > 0) {
    if (width >= kNarrow) RunRows<Tile, Tile::kNarrow>(args, 1);
  }
  if constexpr (kHalf < kLanes) {
    const size_t begin = width - kHalf;
    if (width != kNarrow) RunRows<Tile, 1, Narrow>(FromColumn(args, begin, begin), 1);
  }
}

// The last panel of some tiles, at the end of c. The packing pads the panel, so it is computed in
// whole vectors, into a buffer that also has room for dropped rows.
template <class Tile, size_t kRows>
inline void LastPanel(const GemmArgs<Element>& args, size_t columns) {
  alignas(sizeof(F)) Element sums[kRows * Tile::kNr], residual[kRows * Tile::kNr];
  GemmArgs<Element> whole = args;
  whole.c = sums;
  whole.c_stride = Tile::kNr;
  if (Tile::Smaller(Tile::kMr, Tile::kVectors) == 0)
    whole.rows = (args.rows + Tile::kMr - 1) / Tile::kMr * Tile::kMr;
  if (args.residual != nullptr) {
    CopyRows(args.residual, args.residual_stride, residual, Tile::kNr, args.rows, columns);
    whole.residual = residual;
    whole.residual_stride = Tile::kNr;
  }
  const size_t width = ComputedWidth<Tile>(columns);
  if (width == Tile::kNr) {
    RunRows<Tile, Tile::kVectors>(whole, 1);
  } else {
    RunPartialPanel<Tile>(whole, width);
  }
  CopyRows(sums, Tile::kNr, args.c, args.c_stride, args.rows, columns);
}

// Computes a last panel of fewer than kNr columns. Not inlined, to keep the common path short.
template <class Tile>
__attribute__((noinline)) void LastColumns(const GemmArgs<Element>& original, size_t columns) {
  // One call for several tiles reduces overhead; their buffer takes a kilobyte of the stack.
  constexpr size_t kTile = Tile::kMr * Tile::kNr, kTiles = kTile < 256 ? 256 / kTile : 1;
  constexpr size_t kRows = kTiles * Tile::kMr;
  if (columns == ComputedWidth<Tile>(columns) && columns < Tile::kNr)
    return RunPartialPanel<Tile>(original, columns);
  GemmArgs<Element> args = original;
  for (size_t left = original.rows; left > 0;) {
    args.rows = left < kRows ? left : kRows;
    left -= args.rows;
    LastPanel<Tile, kRows>(args, columns);
    SkipRows(args, args.rows);
  }
}

template <class Tile>
inline void Gemm(const GemmArgs<Element>& args) {
  const size_t count = args.columns / Tile::kNr, left = args.columns % Tile::kNr;
  if (count > 0) RunRows<Tile, Tile::kVectors>(args, count);
  if (left == 0) return;
  const size_t begin = count * Tile::kNr;
  LastColumns<Tile>(FromColumn(args, begin, begin * args.taps * args.k), left);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_GEMM_H_
