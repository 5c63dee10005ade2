// The frame of the x86 kernels for products of transformed tiles: panels of weights, and tiles of
// rows as even as they can be, for most images leave a few.
//
// A kernel supplies Tile: kMr rows by kVectors of Sums, of kLanes each; Load(w), of weights that
// stand for a vector of Sums; Broadcast(a), of as many elements; Add(sum, w, x); Store(c, sum).
#ifndef TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCTS_H_
#define TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCTS_H_

#include <immintrin.h>

#include "kernels/generic/unroll.h"
#include "kernels/kernel_api.h"

namespace {

constexpr size_t kPair = 2;  // elements of the depth that are multiplied at once

template <class Tile, int kRows>
__attribute__((noinline)) void ProductTile(const WinogradProductArgs<int8_t>& args,
                                           const int16_t* a, const int16_t* w, int32_t* c) {
  typename Tile::Sums sums[kRows][Tile::kVectors] = {};
  const int16_t* rows[kRows];
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i) rows[i] = a + static_cast<size_t>(i) * args.a_stride;
  for (size_t p = 0; p < args.k; p += kPair) {
    typename Tile::Sums b[Tile::kVectors];
    TRIMTAB_UNROLL
    for (int v = 0; v < Tile::kVectors; ++v, w += kPair * Tile::kLanes) b[v] = Tile::Load(w);
    TRIMTAB_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const auto x = Tile::Broadcast(rows[i] + p);
      TRIMTAB_UNROLL
      for (int v = 0; v < Tile::kVectors; ++v) Tile::Add(&sums[i][v], b[v], x);
    }
  }
  TRIMTAB_UNROLL
  for (int i = 0; i < kRows; ++i, c += args.c_stride) {
    TRIMTAB_UNROLL
    for (int v = 0; v < Tile::kVectors; ++v) Tile::Store(c + v * Tile::kLanes, sums[i][v]);
  }
}

// The variant of just so many rows, or of one more where there is none.
template <class Tile, int kRows = Tile::kMr>
inline void RunTile(const WinogradProductArgs<int8_t>& args, size_t rows, const int16_t* a,
                    const int16_t* w, int32_t* c) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return RunTile<Tile, kRows - 1>(args, rows, a, w, c);
  }
  ProductTile<Tile, kRows>(args, a, w, c);
}

template <class Tile>
inline void WinogradProducts(const WinogradProductArgs<int8_t>& args) {
  constexpr size_t kNr = Tile::kLanes * Tile::kVectors;
  const int16_t* w = args.w;
  for (size_t column = 0; column < args.columns; column += kNr, w += args.k * kNr) {
    const int16_t* a = args.a;
    int32_t* c = args.c + column;
    size_t tiles = (args.rows + Tile::kMr - 1) / Tile::kMr;
    for (size_t left = args.rows; left > 0; --tiles) {
      const size_t rows = (left + tiles - 1) / tiles;
      RunTile<Tile>(args, rows, a, w, c);
      a += rows * args.a_stride;
      c += rows * args.c_stride;
      left -= rows;
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_X86_WINOGRAD_PRODUCTS_H_
