// The frame of the GEMM kernels of bytes: tiles, panels, and results that no memory is for.
//
// A kernel supplies Tile: the constants kMr, kNr, kKr and Multiply(block), which computes a whole tile of
// one panel and writes its rows to where the block says.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
#define TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_

#include <stddef.h>
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
  int8_t* c[8];  // as many as the kernel has rows
  int16_t zero_point;
  int8_t low, high;
};

// What assembly of four rows is given of a block, and how it takes the limits and the pointers to
// results of it.
#define TRIMTAB_BLOCK_OUTPUTS                                                                    \
  [w] "+r"(w), [tap] "+r"(tap), [taps] "+r"(taps), [n] "=&r"(n), [p0] "=&r"(p0), [p1] "=&r"(p1), \
      [p2] "=&r"(p2), [p3] "=&r"(p3)
#define TRIMTAB_BLOCK_INPUTS                                                               \
  [k] "r"(block.k), [bias] "r"(block.bias), [scale] "r"(block.scale), [block] "r"(&block), \
      [results] "i"(offsetof(Block, c)), [ends] "i"(offsetof(Block, zero_point))
#define TRIMTAB_BLOCK_RESULTS(zero_point, low, high) \
  "add %[n], %[block], %[ends]\n"                    \
  "ld1r {v" #zero_point                              \
  ".8h}, [%[n]], #2\n"                               \
  "ld1r {v" #low                                     \
  ".16b}, [%[n]], #1\n"                              \
  "ld1r {v" #high                                    \
  ".16b}, [%[n]]\n"                                  \
  "ldp %[p0], %[p1], [%[block], %[results]]\n"       \
  "ldp %[p2], %[p3], [%[block], %[results] + 16]\n"
#define TRIMTAB_NEXT_TAP              \
  "ldp %[p0], %[p1], [%[tap]], #16\n" \
  "ldp %[p2], %[p3], [%[tap]], #16\n"
// The rounded sums of s0 to s3 as 16 bytes in s0.
#define TRIMTAB_NARROW(s0, s1, s2, s3, zero_point, low, high) \
  "sqxtn v" #s0 ".4h, v" #s0                                  \
  ".4s\n"                                                     \
  "sqxtn v" #s2 ".4h, v" #s2                                  \
  ".4s\n"                                                     \
  "sqxtn2 v" #s0 ".8h, v" #s1                                 \
  ".4s\n"                                                     \
  "sqxtn2 v" #s2 ".8h, v" #s3                                 \
  ".4s\n"                                                     \
  "sqadd v" #s0 ".8h, v" #s0 ".8h, v" #zero_point             \
  ".8h\n"                                                     \
  "sqadd v" #s2 ".8h, v" #s2 ".8h, v" #zero_point             \
  ".8h\n"                                                     \
  "sqxtn v" #s0 ".8b, v" #s0                                  \
  ".8h\n"                                                     \
  "sqxtn2 v" #s0 ".16b, v" #s2                                \
  ".8h\n"                                                     \
  "smax v" #s0 ".16b, v" #s0 ".16b, v" #low                   \
  ".16b\n"                                                    \
  "smin v" #s0 ".16b, v" #s0 ".16b, v" #high ".16b\n"
// Integers as rounded products with the factors in v(f).
#define TRIMTAB_ROUND(s, f)           \
  "scvtf v" #s ".4s, v" #s            \
  ".4s\n"                             \
  "fmul v" #s ".4s, v" #s ".4s, v" #f \
  ".4s\n"                             \
  "fcvtns v" #s ".4s, v" #s ".4s\n"

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
