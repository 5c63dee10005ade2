// The frame of the GEMM kernels of bytes: tiles, panels, and results that no memory is for.
//
// A kernel supplies Tile: the constants kMr and kNr, and Multiply(block, panel, c, c_stride), which
// computes a whole tile of one panel and writes its rows to c; kFew and MultiplyFew, which computes
// as many rows alone, or 0.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
#define TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_

#include <stddef.h>
#include <string.h>

#include "kernels/kernel_api.h"

namespace {

// What the panels of a tile have in common. Assembly knows the offsets.
struct Block {
  const int8_t* const* a;
  size_t taps, k;
  int16_t zero_point;
  int8_t low, high;
  bool is_bounded;  // by less than 8 bits
};

struct Panel {
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
};

// What assembly of four rows is given, and how it takes the limits of a block and points at the rows
// of the result.
#define TRIMTAB_BLOCK_OUTPUTS                                                                    \
  [w] "+r"(w), [tap] "+r"(tap), [taps] "+r"(taps), [n] "=&r"(n), [p0] "=&r"(p0), [p1] "=&r"(p1), \
      [p2] "=&r"(p2), [p3] "=&r"(p3)
#define TRIMTAB_BLOCK_INPUTS                                                               \
  [k] "r"(block.k), [bias] "r"(panel.bias), [scale] "r"(panel.scale), [block] "r"(&block), \
      [ends] "i"(offsetof(Block, zero_point)), [bounded] "i"(offsetof(Block, is_bounded)), \
      [c] "r"(c), [c_stride] "r"(c_stride)
#define TRIMTAB_BLOCK_RESULTS(zero_point, low, high) \
  "add %[n], %[block], %[ends]\n"                    \
  "ld1r {v" #zero_point                              \
  ".8h}, [%[n]], #2\n"                               \
  "ld1r {v" #low                                     \
  ".16b}, [%[n]], #1\n"                              \
  "ld1r {v" #high                                    \
  ".16b}, [%[n]]\n"                                  \
  "mov %[p0], %[c]\n"                                \
  "add %[p1], %[c], %[c_stride]\n"                   \
  "add %[p2], %[c], %[c_stride], lsl #1\n"           \
  "add %[p3], %[p1], %[c_stride], lsl #1\n"
#define TRIMTAB_NEXT_TAP              \
  "ldp %[p0], %[p1], [%[tap]], #16\n" \
  "ldp %[p2], %[p3], [%[tap]], #16\n"
// The rounded sums of s0 to s3 as 16 bytes in s0.
#define TRIMTAB_NARROW(s0, s1, s2, s3, zero_point) \
  "sqxtn v" #s0 ".4h, v" #s0                       \
  ".4s\n"                                          \
  "sqxtn v" #s2 ".4h, v" #s2                       \
  ".4s\n"                                          \
  "sqxtn2 v" #s0 ".8h, v" #s1                      \
  ".4s\n"                                          \
  "sqxtn2 v" #s2 ".8h, v" #s3                      \
  ".4s\n"                                          \
  "sqadd v" #s0 ".8h, v" #s0 ".8h, v" #zero_point  \
  ".8h\n"                                          \
  "sqadd v" #s2 ".8h, v" #s2 ".8h, v" #zero_point  \
  ".8h\n"                                          \
  "sqxtn v" #s0 ".8b, v" #s0                       \
  ".8h\n"                                          \
  "sqxtn2 v" #s0 ".16b, v" #s2 ".8h\n"
// These within the limits. Bytes keep within theirs by themselves: TRIMTAB_UNLESS_BOUNDED goes on.
#define TRIMTAB_CLAMP(s, low, high)       \
  "smax v" #s ".16b, v" #s ".16b, v" #low \
  ".16b\n"                                \
  "smin v" #s ".16b, v" #s ".16b, v" #high ".16b\n"
#define TRIMTAB_UNLESS_BOUNDED(label)    \
  "ldrb %w[n], [%[block], %[bounded]]\n" \
  "cbz %w[n], " label "\n"
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
  const size_t panel_bytes = args.taps * args.k * kNr, c_stride = args.c_stride;
  const Panel first = {args.w, args.bias, args.scale};
  Block block = {args.a,
                 args.taps,
                 args.k,
                 static_cast<int16_t>(args.zero_point),
                 static_cast<int8_t>(args.low),
                 static_cast<int8_t>(args.high),
                 args.low > INT8_MIN || args.high < INT8_MAX};
  int8_t* row = args.c;
  const size_t all_columns = args.columns;
  for (size_t left = args.rows; left > 0; block.a += args.taps * kMr, row += kMr * c_stride) {
    const size_t rows = left < kMr ? left : kMr;
    left -= rows;
    // A tile that is not whole is computed aside. A panel is few instructions, and these would count.
    const size_t whole_columns = rows == kMr ? kNr : SIZE_MAX;
    Panel panel = first;
    int8_t* c = row;
    for (size_t columns = all_columns;; columns -= kNr, c += kNr) {
      const bool whole = columns >= whole_columns;
      int8_t part[kMr * kNr];
      if (rows > Tile::kFew) {
        Tile::Multiply(block, panel, whole ? c : part, whole ? c_stride : kNr);
      } else {
        Tile::MultiplyFew(block, panel, part, kNr);
      }
      if (!whole) {
        const int8_t* from = part;
        for (size_t i = 0; i < rows; ++i, from += kNr) {
          if (columns >= kNr) {
            __builtin_memcpy(c + i * c_stride, from, kNr);
          } else {
            for (size_t j = 0; j < columns; ++j) c[i * c_stride + j] = from[j];
          }
        }
      }
      if (columns <= kNr) break;
      panel = {panel.w + panel_bytes, panel.bias + kNr, panel.scale + kNr};
    }
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
