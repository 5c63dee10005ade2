// The frame of the GEMM kernels of bytes: tiles, panels, and results that no memory is for.
//
// A kernel supplies Tile: the constants kMr, kNr, kKr and Multiply(block), which computes a whole tile of
// one panel and writes its rows to where the block says.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
#define TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_

#include <string.h>

#include "kernels/kernel_api.h"

namespace {

// One tile of one panel. Assembly knows the offsets.
struct Block {
  const int8_t* const* a;
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
  size_t taps, k;
  int8_t* c[4];
  int16_t zero_point;
  int8_t low, high;
};

template <class Tile>
inline void GemmBytes(const GemmArgs<int8_t>& args) {
  constexpr size_t kMr = Tile::kMr, kNr = Tile::kNr;
  const size_t panel_bytes = args.taps * args.k * kNr;
  int8_t unused[kNr];
  Block block;
  block.a = args.a;
  block.taps = args.taps;
  block.k = args.k;
  block.zero_point = static_cast<int16_t>(args.zero_point);
  block.low = static_cast<int8_t>(args.low);
  block.high = static_cast<int8_t>(args.high);
  int8_t* c = args.c;
  for (size_t left = args.rows; left > 0; block.a += args.taps * kMr, c += kMr * args.c_stride) {
    const size_t rows = left < kMr ? left : kMr;
    left -= rows;
    for (size_t i = 0; i < kMr; ++i) block.c[i] = i < rows ? c + i * args.c_stride : unused;
    block.w = args.w;
    block.bias = args.bias;
    block.scale = args.scale;
    for (size_t columns = args.columns;; columns -= kNr) {
      if (columns < kNr) {
        if (columns == 0) break;
        int8_t part[kMr][kNr];
        for (size_t i = 0; i < kMr; ++i) block.c[i] = part[i];
        Tile::Multiply(block);
        int8_t* const last = c + (args.columns - columns);
        for (size_t i = 0; i < rows; ++i) {
          for (size_t j = 0; j < columns; ++j) last[i * args.c_stride + j] = part[i][j];
        }
        break;
      }
      Tile::Multiply(block);
      block.w += panel_bytes;
      block.bias += kNr;
      block.scale += kNr;
      for (size_t i = 0; i < rows; ++i) block.c[i] += kNr;
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
