// The frame of the GEMM kernels of bytes: tiles, panels, and results that no memory is for.
//
// A kernel supplies Tile: the constants kMr and kNr, and Multiply(block, panel, count, c, c_stride),
// which computes a whole tile of `count` panels, from one on, and writes its rows to c, bytes, or floats
// where the block is real (c_stride is of bytes); Pack, which brings the rows of such a tile together
// before; kFew and MultiplyFew, which computes as many rows alone, or 0.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
#define TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_

#include <arm_neon.h>
#include <stddef.h>
#include <string.h>

#include "kernels/generic/short_copy.h"
#include "kernels/kernel_api.h"

namespace {

// What the panels of a tile have in common. Assembly knows the offsets.
struct Block {
  int16x8_t zero_point;  // in every lane, as the limits
  int8x16_t low, high;
  size_t slope;                         // bytes from the next panel's scales to a panel's slopes
  size_t is_bounded;                    // by less than 8 bits
  size_t finish;                        // what becomes of products: a Finish
  const int8_t *const *a, *const *end;  // pointers to taps
  size_t k;
  int8_t* packed;  // what Pack makes of the rows
  size_t depth;
};

// Products are rounded, leave as they are, or are rounded after those below 0 met their slopes.
enum Finish : size_t { kRounded = 0, kReal = 1, kSloped = 2 };

// Tiles that read rows where they lie.
struct RowsInPlace {
  static void Pack(const Block&) {}
};

struct Panel {
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
};

// What assembly of four rows is given; how it begins a panel and a tap, takes the zero point of a block,
// points at the rows of the result, and goes on with the next panel.
#define TRIMTAB_BLOCK_OUTPUTS                                                                      \
  [w] "+r"(panel.w), [bias] "+r"(panel.bias), [scale] "+r"(panel.scale), [count] "+r"(count),      \
      [c] "+r"(c), [tap] "=&r"(tap), [n] "=&r"(n), [p0] "=&r"(p0), [p1] "=&r"(p1), [p2] "=&r"(p2), \
      [p3] "=&r"(p3)
#define TRIMTAB_BLOCK_INPUTS                                                     \
  [a] "r"(block.a), [end] "r"(block.end), [k] "r"(block.k), [block] "r"(&block), \
      [low] "i"(offsetof(Block, low)), [slope] "i"(offsetof(Block, slope)),      \
      [bounded] "r"(block.is_bounded), [finish] "r"(block.finish), [c_stride] "r"(c_stride)
#define TRIMTAB_NEXT_PANEL \
  "10:\n"                  \
  "mov %[tap], %[a]\n"
// Whether there is another tap: `b.ne` goes on with it.
#define TRIMTAB_ANOTHER_TAP "cmp %[tap], %[end]\n"
#define TRIMTAB_NEXT_TAP              \
  "ldp %[p0], %[p1], [%[tap]], #16\n" \
  "ldp %[p2], %[p3], [%[tap]], #16\n"
#define TRIMTAB_BLOCK_ZERO_POINT(zero_point) "ldr q" #zero_point ", [%[block]]\n"
#define TRIMTAB_BLOCK_ROWS                 \
  "mov %[p0], %[c]\n"                      \
  "add %[p1], %[c], %[c_stride]\n"         \
  "add %[p2], %[c], %[c_stride], lsl #1\n" \
  "add %[p3], %[p1], %[c_stride], lsl #1\n"
// Before products are rounded: where that is not all, goes on behind the loop.
#define TRIMTAB_UNLESS_ROUNDED \
  "cbnz %[finish], 21f\n"      \
  "19:\n"
// The end of the loop over panels. Between it and the next one stands what multiplies products by slopes,
// at which n points; between that and the last one what stores real numbers in the place of bytes.
#define TRIMTAB_UNTIL_LAST_PANEL     \
  "20:\n"                            \
  "subs %[count], %[count], #1\n"    \
  "b.ne 10b\n"                       \
  "b 22f\n"                          \
  "21:\n"                            \
  "tbz %[finish], #1, 23f\n"         \
  "ldr %[n], [%[block], %[slope]]\n" \
  "add %[n], %[n], %[scale]\n"
#define TRIMTAB_END_OF_SLOPES \
  "b 19b\n"                   \
  "23:\n"
#define TRIMTAB_END_OF_REALS(bytes) \
  "add %[c], %[c], #" #bytes        \
  "\n"                              \
  "b 20b\n"                         \
  "22:\n"
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
// Bytes keep within their limits by themselves: goes on at `label` unless the block has narrower ones,
// which are loaded.
#define TRIMTAB_UNLESS_BOUNDED(label, low, high) \
  "cbz %[bounded], " label                       \
  "\n"                                           \
  "ldp q" #low ", q" #high ", [%[block], %[low]]\n"
#define TRIMTAB_CLAMP(s, low, high)       \
  "smax v" #s ".16b, v" #s ".16b, v" #low \
  ".16b\n"                                \
  "smin v" #s ".16b, v" #s ".16b, v" #high ".16b\n"
// Integers as products with the factors in v(f), and these rounded.
#define TRIMTAB_SCALE(s, f) \
  "scvtf v" #s ".4s, v" #s  \
  ".4s\n"                   \
  "fmul v" #s ".4s, v" #s ".4s, v" #f ".4s\n"
#define TRIMTAB_ROUND(s) "fcvtns v" #s ".4s, v" #s ".4s\n"
// Those below 0 times the slopes in v(a), from -1 to 1.
#define TRIMTAB_SLOPE(s, a, product)        \
  "fmul v" #product ".4s, v" #s ".4s, v" #a \
  ".4s\n"                                   \
  "fmax v" #s ".4s, v" #s ".4s, v" #product ".4s\n"
// 16 real numbers of a row.
#define TRIMTAB_STORE_REALS(s0, s1, s2, s3, p) \
  "stp q" #s0 ", q" #s1 ", [%[" #p             \
  "]]\n"                                       \
  "stp q" #s2 ", q" #s3 ", [%[" #p "], #32]\n"

// From the scales of the next panel to the slopes of this one.
template <size_t kNr>
inline size_t SlopesBehind(const GemmArgs<int8_t>& args) {
  const auto place = [](const float* p) { return reinterpret_cast<uintptr_t>(p); };
  return args.slope == nullptr ? 0 : place(args.slope) - place(args.scale + kNr);
}

// Of a row that was computed aside.
inline void CopyRow(int8_t* to, const int8_t* from, size_t bytes) {
  constexpr size_t kWord = 16;
  for (; bytes > kWord; bytes -= kWord, to += kWord, from += kWord)
    __builtin_memcpy(to, from, kWord);
  CopyShort(to, from, bytes);
}

template <class Tile>
inline void GemmBytes(const GemmArgs<int8_t>& args) {
  constexpr size_t kMr = Tile::kMr, kNr = Tile::kNr;
  const bool is_real = args.reals != nullptr;
  const size_t size = is_real ? sizeof(float) : sizeof(int8_t);  // of a result
  const size_t panel_bytes = args.taps * args.k * kNr, c_stride = args.c_stride * size;
  const size_t whole_panels = args.columns / kNr, columns_left = args.columns % kNr;
  Block block = {vdupq_n_s16(static_cast<int16_t>(args.zero_point)),
                 vdupq_n_s8(static_cast<int8_t>(args.low)),
                 vdupq_n_s8(static_cast<int8_t>(args.high)),
                 SlopesBehind<kNr>(args),
                 args.low > INT8_MIN || args.high < INT8_MAX,
                 is_real                 ? kReal
                 : args.slope != nullptr ? kSloped
                                         : kRounded,
                 args.a,
                 args.a + args.taps * kMr,
                 args.k,
                 args.scratch,
                 args.taps * args.k};
  int8_t* row = is_real ? reinterpret_cast<int8_t*>(args.reals) : args.c;
  for (size_t left = args.rows; left > 0; row += kMr * c_stride) {
    const size_t rows = left < kMr ? left : kMr;
    left -= rows;
    const bool few = rows <= Tile::kFew;
    const auto multiply = few ? Tile::MultiplyFew : Tile::Multiply;
    if (!few) Tile::Pack(block);
    size_t panels = rows == (few ? Tile::kFew : kMr) ? whole_panels : 0;
    if (panels > 0) multiply(block, {args.w, args.bias, args.scale}, panels, row, c_stride);
    // What is not whole is computed aside.
    for (; panels < whole_panels + (columns_left > 0); ++panels) {
      const size_t first = panels * kNr;
      alignas(float) int8_t part[kMr * kNr * sizeof(float)];
      const size_t width = kNr * size;
      multiply(block, {args.w + panels * panel_bytes, args.bias + first, args.scale + first}, 1,
               part, width);
      const size_t bytes = panels < whole_panels ? width : columns_left * size;
      int8_t* to = row + first * size;
      for (const int8_t* from = part; from < part + rows * width; from += width, to += c_stride)
        CopyRow(to, from, bytes);
    }
    block.a = block.end;
    block.end += args.taps * kMr;
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_BYTES_H_
