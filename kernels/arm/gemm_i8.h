// The driver of the int8 GEMM kernels: tiles, panels, and results outside of c.
//
// A kernel supplies Tile: the constants kMr and kNr; Multiply(block, panel, count, c, c_stride),
// which computes a whole tile of `count` >= 1 panels and writes its rows to c, int8 values, or
// floats if the block is real (c_stride is in bytes); Pack, which copies the rows of such a tile
// together first; kFewRows and MultiplyFewRows, which computes that many rows alone, or 0.
#ifndef TRIMTAB_KERNELS_ARM_GEMM_I8_H_
#define TRIMTAB_KERNELS_ARM_GEMM_I8_H_

#include <arm_neon.h>
#include <stddef.h>
#include <string.h>

#include "kernels/generic/short_copy.h"
#include "kernels/kernel_api.h"

namespace {

// Parameters that all panels of a tile share. Assembly depends on the offsets.
struct Block {
  int16x8_t zero_point;  // in every lane; so are the limits
  int8x16_t low, high;
  size_t slope;                         // bytes from the next panel's scales to this panel's slopes
  size_t is_clamped;                    // limits narrower than int8
  size_t epilogue;                      // an Epilogue: conversion of the sums
  const int8_t *const *a, *const *end;  // pointers to taps
  size_t k;
  int8_t* packed;  // the rows as Pack arranges them
  size_t depth;
};

// Conversion of sums: requantized, float32, or requantized after negative ones are multiplied by
// slopes.
enum Epilogue : size_t { kRequantize = 0, kDequantize = 1, kRequantizePrelu = 2 };

// For tiles that read rows in place.
struct RowsInPlace {
  static void Pack(const Block&) {}
};

struct Panel {
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
};

// Operands of the assembly for four rows: beginning a panel and a tap, loading a block's zero
// point, setting pointers to the result's rows, and advancing to the next panel.
#define TRIMTAB_ASM_OUTPUTS                                                                        \
  [w] "+r"(panel.w), [bias] "+r"(panel.bias), [scale] "+r"(panel.scale), [count] "+r"(count),      \
      [c] "+r"(c), [tap] "=&r"(tap), [n] "=&r"(n), [p0] "=&r"(p0), [p1] "=&r"(p1), [p2] "=&r"(p2), \
      [p3] "=&r"(p3)
#define TRIMTAB_ASM_INPUTS                                                       \
  [a] "r"(block.a), [end] "r"(block.end), [k] "r"(block.k), [block] "r"(&block), \
      [low] "i"(offsetof(Block, low)), [slope] "i"(offsetof(Block, slope)),      \
      [clamped] "r"(block.is_clamped), [epilogue] "r"(block.epilogue), [c_stride] "r"(c_stride)
#define TRIMTAB_BEGIN_PANEL \
  "10:\n"                   \
  "mov %[tap], %[a]\n"
// Tests for another tap: `b.ne` continues with it.
#define TRIMTAB_TEST_LAST_TAP "cmp %[tap], %[end]\n"
#define TRIMTAB_LOAD_TAP_POINTERS     \
  "ldp %[p0], %[p1], [%[tap]], #16\n" \
  "ldp %[p2], %[p3], [%[tap]], #16\n"
#define TRIMTAB_LOAD_ZERO_POINT(zero_point) "ldr q" #zero_point ", [%[block]]\n"
#define TRIMTAB_SET_ROW_POINTERS           \
  "mov %[p0], %[c]\n"                      \
  "add %[p1], %[c], %[c_stride]\n"         \
  "add %[p2], %[c], %[c_stride], lsl #1\n" \
  "add %[p3], %[p1], %[c_stride], lsl #1\n"
// Before requantization: branches behind the loop for the other conversions.
#define TRIMTAB_BRANCH_UNLESS_REQUANTIZE \
  "cbnz %[epilogue], 21f\n"              \
  "19:\n"
// End of the loop over panels. Between this macro and the next one is the code that multiplies sums
// by slopes, with n pointing at them; between that one and the last one the code that stores
// float32 results.
#define TRIMTAB_END_PANEL_LOOP       \
  "20:\n"                            \
  "subs %[count], %[count], #1\n"    \
  "b.ne 10b\n"                       \
  "b 22f\n"                          \
  "21:\n"                            \
  "tbz %[epilogue], #1, 23f\n"       \
  "ldr %[n], [%[block], %[slope]]\n" \
  "add %[n], %[n], %[scale]\n"
#define TRIMTAB_END_SLOPES \
  "b 19b\n"                \
  "23:\n"
#define TRIMTAB_END_DEQUANTIZE(bytes) \
  "add %[c], %[c], #" #bytes          \
  "\n"                                \
  "b 20b\n"                           \
  "22:\n"
// Narrows the rounded sums in s0 to s3 to 16 int8 values in s0.
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
// Narrowing saturates to int8: jumps to `label` unless the block has narrower limits, which it
// loads.
#define TRIMTAB_BRANCH_UNLESS_CLAMPED(label, low, high) \
  "cbz %[clamped], " label                              \
  "\n"                                                  \
  "ldp q" #low ", q" #high ", [%[block], %[low]]\n"
#define TRIMTAB_CLAMP(s, low, high)       \
  "smax v" #s ".16b, v" #s ".16b, v" #low \
  ".16b\n"                                \
  "smin v" #s ".16b, v" #s ".16b, v" #high ".16b\n"
// Multiplies integers by the factors in v(f) and rounds.
#define TRIMTAB_SCALE(s, f) \
  "scvtf v" #s ".4s, v" #s  \
  ".4s\n"                   \
  "fmul v" #s ".4s, v" #s ".4s, v" #f ".4s\n"
#define TRIMTAB_ROUND(s) "fcvtns v" #s ".4s, v" #s ".4s\n"
// Multiplies negative values by the slopes in v(a), which are in [-1, 1].
#define TRIMTAB_SLOPE(s, a, product)        \
  "fmul v" #product ".4s, v" #s ".4s, v" #a \
  ".4s\n"                                   \
  "fmax v" #s ".4s, v" #s ".4s, v" #product ".4s\n"
// Stores 16 floats of a row.
#define TRIMTAB_STORE_F32(s0, s1, s2, s3, p) \
  "stp q" #s0 ", q" #s1 ", [%[" #p           \
  "]]\n"                                     \
  "stp q" #s2 ", q" #s3 ", [%[" #p "], #32]\n"

// Bytes from the scales of the next panel to the slopes of this one.
template <size_t kNr>
inline size_t SlopesOffset(const GemmArgs<int8_t>& args) {
  const auto address = [](const float* p) { return reinterpret_cast<uintptr_t>(p); };
  return args.slope == nullptr ? 0 : address(args.slope) - address(args.scale + kNr);
}

// Copies a row that was computed in a buffer.
inline void CopyRow(int8_t* to, const int8_t* from, size_t bytes) {
  constexpr size_t kWord = 16;
  for (; bytes > kWord; bytes -= kWord, to += kWord, from += kWord)
    __builtin_memcpy(to, from, kWord);
  CopyShort(to, from, bytes);
}

template <class Tile>
inline void GemmI8(const GemmArgs<int8_t>& args) {
  constexpr size_t kMr = Tile::kMr, kNr = Tile::kNr;
  const bool is_dequantized = args.dequantized != nullptr;
  const size_t size = is_dequantized ? sizeof(float) : sizeof(int8_t);  // bytes per result
  const size_t panel_bytes = args.taps * args.k * kNr, c_stride = args.c_stride * size;
  const size_t whole_panels = args.columns / kNr, columns_left = args.columns % kNr;
  Block block = {vdupq_n_s16(static_cast<int16_t>(args.zero_point)),
                 vdupq_n_s8(static_cast<int8_t>(args.low)),
                 vdupq_n_s8(static_cast<int8_t>(args.high)),
                 SlopesOffset<kNr>(args),
                 args.low > INT8_MIN || args.high < INT8_MAX,
                 is_dequantized          ? kDequantize
                 : args.slope != nullptr ? kRequantizePrelu
                                         : kRequantize,
                 args.a,
                 args.a + args.taps * kMr,
                 args.k,
                 args.scratch,
                 args.taps * args.k};
  int8_t* row = is_dequantized ? reinterpret_cast<int8_t*>(args.dequantized) : args.c;
  for (size_t left = args.rows; left > 0; row += kMr * c_stride) {
    const size_t rows = left < kMr ? left : kMr;
    left -= rows;
    const bool has_few_rows = rows <= Tile::kFewRows;
    const auto multiply = has_few_rows ? Tile::MultiplyFewRows : Tile::Multiply;
    if (!has_few_rows) Tile::Pack(block);
    size_t panels = rows == (has_few_rows ? Tile::kFewRows : kMr) ? whole_panels : 0;
    if (panels > 0) multiply(block, {args.w, args.bias, args.scale}, panels, row, c_stride);
    // Partial panels are computed in a buffer.
    for (; panels < whole_panels + (columns_left > 0); ++panels) {
      const size_t first = panels * kNr;
      alignas(float) int8_t partial[kMr * kNr * sizeof(float)];
      const size_t width = kNr * size;
      multiply(block, {args.w + panels * panel_bytes, args.bias + first, args.scale + first}, 1,
               partial, width);
      const size_t bytes = panels < whole_panels ? width : columns_left * size;
      int8_t* to = row + first * size;
      for (const int8_t* from = partial; from < partial + rows * width;
           from += width, to += c_stride)
        CopyRow(to, from, bytes);
    }
    block.a = block.end;
    block.end += args.taps * kMr;
  }
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_GEMM_I8_H_
