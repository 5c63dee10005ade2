// The driver of the GEMM kernels for Winograd-transformed int8 tiles: panels of weights, and tiles
// of rows of nearly equal height, because most images leave a remainder.
//
// A kernel supplies Tile: kMr rows by kNr columns, and Multiply<kRows>(args, a, w, c), which
// computes a tile of exactly kRows rows.
#ifndef TRIMTAB_KERNELS_GENERIC_WINOGRAD_PRODUCT_I8_H_
#define TRIMTAB_KERNELS_GENERIC_WINOGRAD_PRODUCT_I8_H_

#include "kernels/kernel_api.h"

namespace {

template <class Tile, int kRows = Tile::kMr>
inline void MultiplyRows(const WinogradProductArgs<int8_t>& args, size_t rows, const int16_t* a,
                         const int16_t* w, int32_t* c) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MultiplyRows<Tile, kRows - 1>(args, rows, a, w, c);
  }
  Tile::template Multiply<kRows>(args, a, w, c);
}

template <class Tile>
inline void WinogradProduct(const WinogradProductArgs<int8_t>& args) {
  constexpr size_t kMr = Tile::kMr, kNr = Tile::kNr;
  const int16_t* w = args.w;
  for (size_t column = 0; column < args.columns; column += kNr, w += args.k * kNr) {
    const int16_t* a = args.a;
    int32_t* c = args.c + column;
    size_t tiles = (args.rows + kMr - 1) / kMr;
    for (size_t left = args.rows; left > 0; --tiles) {
      const size_t rows = (left + tiles - 1) / tiles;
      MultiplyRows<Tile>(args, rows, a, w, c);
      a += rows * args.a_stride;
      c += rows * args.c_stride;
      left -= rows;
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_WINOGRAD_PRODUCT_I8_H_
