// Depthwise convolution for Armv8 in assembly: blocks of neighboring pixels of a row, sixteen
// channels at a time, whose sums stay in registers. An input is loaded once for all windows of a
// block that contain it, a weight once for all pixels. Pixels are the outer loop, channels the
// inner one, as in kernels/generic/depthwise.h, which computes windows that are neither 3x3 nor
// five wide.
//
// Windows of stride one are computed in blocks of three pixels, the remainder in blocks of two;
// windows of stride two in blocks of two. So 3x3 windows span at most five columns, whose 15
// pointers have a register each; windows that are five wide span seven, and each row loads its
// pointers.
//
// The kernel defines how vectors are loaded and pointers advance, because cores differ in what they
// hide behind multiply-adds. It defines assembly text; in four pieces, one before each of four
// multiply-adds:
//   TRIMTAB_INPUT(slot, pointer)    sixteen channels of a pixel
//   TRIMTAB_WEIGHT(slot, column)    of a 3x3 window, and TRIMTAB_NEXT_WEIGHTS after each row
//   TRIMTAB_WEIGHT_STEP(slot)       the next weights of a window that is five wide
// and in one piece, where _X is the window, _3X3 or _5WIDE:
//   TRIMTAB_BEGIN_BLOCK, TRIMTAB_BEGIN_ROW (_5WIDE: of pointers x7 to x13)
//   TRIMTAB_END_TILE_X, and TRIMTAB_REWIND_X before a last tile that overlaps the previous one
//   TRIMTAB_REGISTERS               the registers these use beside x0 to x15, with commas
#ifndef TRIMTAB_KERNELS_ARM_DEPTHWISE_ROW_H_
#define TRIMTAB_KERNELS_ARM_DEPTHWISE_ROW_H_

#include "kernels/generic/depthwise.h"

// Slots of four vectors: sums of pixels; weights; inputs.
#define TRIMTAB_SUM0 0, 1, 2, 3
#define TRIMTAB_SUM1 4, 5, 6, 7
#define TRIMTAB_SUM2 8, 9, 10, 11
#define TRIMTAB_W_A 12, 13, 14, 15
#define TRIMTAB_W_B 16, 17, 18, 19
#define TRIMTAB_W_C 20, 21, 22, 23
#define TRIMTAB_IN_X 24, 25, 26, 27
#define TRIMTAB_IN_Y 28, 29, 30, 31
#define TRIMTAB_IN_Z TRIMTAB_SUM2  // for blocks of two pixels
#define TRIMTAB_NO_LOADS "", "", "", ""

// clang-format off
// A slot of sums += inputs * weights, with up to two loads.
#define TRIMTAB_FMLA(...) TRIMTAB_FMLA_(__VA_ARGS__, TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS, )
#define TRIMTAB_FMLA_(...) TRIMTAB_FMLA__(__VA_ARGS__)
#define TRIMTAB_FMLA__(s0, s1, s2, s3, x0, x1, x2, x3, w0, w1, w2, w3, \
                      i0, i1, i2, i3, j0, j1, j2, j3, ...)             \
  i0 j0 "fmla v" #s0 ".4s, v" #x0 ".4s, v" #w0 ".4s\n"                 \
  i1 j1 "fmla v" #s1 ".4s, v" #x1 ".4s, v" #w1 ".4s\n"                 \
  i2 j2 "fmla v" #s2 ".4s, v" #x2 ".4s, v" #w2 ".4s\n"                 \
  i3 j3 "fmla v" #s3 ".4s, v" #x3 ".4s, v" #w3 ".4s\n"
// A load without a multiply-add.
#define TRIMTAB_LOAD_ONLY(...) TRIMTAB_LOAD_ONLY_(__VA_ARGS__)
#define TRIMTAB_LOAD_ONLY_(i0, i1, i2, i3) i0 i1 i2 i3
// Every vector of a slot and v`x`.
#define TRIMTAB_EACH_VECTOR(...) TRIMTAB_EACH_VECTOR_(__VA_ARGS__)
#define TRIMTAB_EACH_VECTOR_(op, x, s0, s1, s2, s3) \
  op " v" #s0 ".4s, v" #s0 ".4s, v" #x ".4s\n"      \
  op " v" #s1 ".4s, v" #s1 ".4s, v" #x ".4s\n"      \
  op " v" #s2 ".4s, v" #s2 ".4s, v" #x ".4s\n"      \
  op " v" #s3 ".4s, v" #s3 ".4s, v" #x ".4s\n"
// All vectors of a slot and memory.
#define TRIMTAB_LOAD_OR_STORE(...) TRIMTAB_LOAD_OR_STORE_(__VA_ARGS__)
#define TRIMTAB_LOAD_OR_STORE_(op, address, s0, s1, s2, s3) \
  op " {v" #s0 ".4s, v" #s1 ".4s, v" #s2 ".4s, v" #s3 ".4s}, [" address "\n"

// A row of three 3x3 windows of stride one, over the columns p0 to p4. On entry X holds p0, and A
// and B the weights of two taps; on exit Y, A and B hold those of the next row.
#define TRIMTAB_3X3_ROW_STRIDE1(X, Y, p1, p2, p3, p4, next_a, next_b, next_x)                      \
  TRIMTAB_FMLA(TRIMTAB_SUM0, X, TRIMTAB_W_A, TRIMTAB_INPUT(Y, p1))                                 \
  TRIMTAB_FMLA(TRIMTAB_SUM0, Y, TRIMTAB_W_B, TRIMTAB_INPUT(X, p2))                                 \
  TRIMTAB_FMLA(TRIMTAB_SUM1, Y, TRIMTAB_W_A, TRIMTAB_WEIGHT(TRIMTAB_W_C, 2), TRIMTAB_NEXT_WEIGHTS) \
  TRIMTAB_FMLA(TRIMTAB_SUM2, X, TRIMTAB_W_A, TRIMTAB_INPUT(Y, p3))                                 \
  TRIMTAB_FMLA(TRIMTAB_SUM1, X, TRIMTAB_W_B, next_a)                                               \
  TRIMTAB_FMLA(TRIMTAB_SUM0, X, TRIMTAB_W_C)                                                       \
  TRIMTAB_FMLA(TRIMTAB_SUM2, Y, TRIMTAB_W_B, TRIMTAB_INPUT(X, p4))                                 \
  TRIMTAB_FMLA(TRIMTAB_SUM1, Y, TRIMTAB_W_C, next_b)                                               \
  TRIMTAB_FMLA(TRIMTAB_SUM2, X, TRIMTAB_W_C, next_x)

// The same for windows of stride two. On entry X holds p0; on exit Z holds that of the next row.
#define TRIMTAB_3X3_ROW_STRIDE2(X, Y, Z, p1, p2, p3, p4, next_a, next_b, next_x)                   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, X, TRIMTAB_W_A, TRIMTAB_INPUT(Y, p1), TRIMTAB_INPUT(Z, p2))           \
  TRIMTAB_FMLA(TRIMTAB_SUM0, Y, TRIMTAB_W_B, TRIMTAB_INPUT(X, p3), TRIMTAB_WEIGHT(TRIMTAB_W_C, 2)) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, Z, TRIMTAB_W_A, TRIMTAB_INPUT(Y, p4), TRIMTAB_NEXT_WEIGHTS)           \
  TRIMTAB_FMLA(TRIMTAB_SUM0, Z, TRIMTAB_W_C, next_a)                                               \
  TRIMTAB_FMLA(TRIMTAB_SUM1, X, TRIMTAB_W_B, next_x)                                               \
  TRIMTAB_FMLA(TRIMTAB_SUM1, Y, TRIMTAB_W_C, next_b)

#define TRIMTAB_3X3_ROWS_STRIDE1                                                \
  TRIMTAB_3X3_ROW_STRIDE1(TRIMTAB_IN_X, TRIMTAB_IN_Y, "x3", "x6", "x9", "x12",  \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1),           \
      TRIMTAB_INPUT(TRIMTAB_IN_Y, "x1"))                                        \
  TRIMTAB_3X3_ROW_STRIDE1(TRIMTAB_IN_Y, TRIMTAB_IN_X, "x4", "x7", "x10", "x13", \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1),           \
      TRIMTAB_INPUT(TRIMTAB_IN_X, "x2"))                                        \
  TRIMTAB_3X3_ROW_STRIDE1(TRIMTAB_IN_X, TRIMTAB_IN_Y, "x5", "x8", "x11", "x14", \
      TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS)
#define TRIMTAB_3X3_ROWS_STRIDE2                                                              \
  TRIMTAB_3X3_ROW_STRIDE2(TRIMTAB_IN_X, TRIMTAB_IN_Y, TRIMTAB_IN_Z, "x3", "x6", "x9", "x12",  \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1),                         \
      TRIMTAB_INPUT(TRIMTAB_IN_Z, "x1"))                                                      \
  TRIMTAB_3X3_ROW_STRIDE2(TRIMTAB_IN_Z, TRIMTAB_IN_X, TRIMTAB_IN_Y, "x4", "x7", "x10", "x13", \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1),                         \
      TRIMTAB_INPUT(TRIMTAB_IN_Y, "x2"))                                                      \
  TRIMTAB_3X3_ROW_STRIDE2(TRIMTAB_IN_Y, TRIMTAB_IN_Z, TRIMTAB_IN_X, "x5", "x8", "x11", "x14", \
      TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS)

// A row of two 3x3 windows of stride one, over four columns; on exit Y holds the next row's first.
#define TRIMTAB_3X3_ROW_PAIR(X, Y, p1, p2, p3, next_a, next_b, next_x)                             \
  TRIMTAB_FMLA(TRIMTAB_SUM0, X, TRIMTAB_W_A, TRIMTAB_INPUT(Y, p1))                                 \
  TRIMTAB_FMLA(TRIMTAB_SUM0, Y, TRIMTAB_W_B, TRIMTAB_INPUT(TRIMTAB_IN_Z, p2))                      \
  TRIMTAB_FMLA(TRIMTAB_SUM1, Y, TRIMTAB_W_A, TRIMTAB_WEIGHT(TRIMTAB_W_C, 2), TRIMTAB_NEXT_WEIGHTS) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Z, TRIMTAB_W_B, TRIMTAB_INPUT(X, p3))                      \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Z, TRIMTAB_W_C, next_x, next_a)                            \
  TRIMTAB_FMLA(TRIMTAB_SUM1, X, TRIMTAB_W_C, next_b)

#define TRIMTAB_3X3_ROWS_PAIR                                         \
  TRIMTAB_3X3_ROW_PAIR(TRIMTAB_IN_X, TRIMTAB_IN_Y, "x3", "x6", "x9",  \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1), \
      TRIMTAB_INPUT(TRIMTAB_IN_Y, "x1"))                              \
  TRIMTAB_3X3_ROW_PAIR(TRIMTAB_IN_Y, TRIMTAB_IN_X, "x4", "x7", "x10", \
      TRIMTAB_WEIGHT(TRIMTAB_W_A, 0), TRIMTAB_WEIGHT(TRIMTAB_W_B, 1), \
      TRIMTAB_INPUT(TRIMTAB_IN_X, "x2"))                              \
  TRIMTAB_3X3_ROW_PAIR(TRIMTAB_IN_X, TRIMTAB_IN_Y, "x5", "x8", "x11", \
      TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS, TRIMTAB_NO_LOADS)

// A row of windows that are five wide, over the columns x7 to x13: three or two of stride one, two
// of stride two.
#define TRIMTAB_5WIDE_ROW_STRIDE1                                                           \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_X, "x7"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))                                       \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_Y, "x8"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))                                       \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_C))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_B, TRIMTAB_INPUT(TRIMTAB_IN_X, "x9"))  \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_A)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM2, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_Y, "x10")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_X, TRIMTAB_W_B, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_C)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM2, TRIMTAB_IN_Y, TRIMTAB_W_B, TRIMTAB_INPUT(TRIMTAB_IN_X, "x11")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_C, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_A)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM2, TRIMTAB_IN_X, TRIMTAB_W_C, TRIMTAB_INPUT(TRIMTAB_IN_Y, "x12")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_X, TRIMTAB_W_A)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_B)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM2, TRIMTAB_IN_Y, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_X, "x13")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_B)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM2, TRIMTAB_IN_X, TRIMTAB_W_B)
#define TRIMTAB_5WIDE_ROW_PAIR                                                              \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_X, "x7"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))                                       \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_Y, "x8"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))                                       \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_Z, "x9"))  \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_A, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_C))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_B, TRIMTAB_INPUT(TRIMTAB_IN_X, "x10")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Z, TRIMTAB_W_B, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Z, TRIMTAB_W_C, TRIMTAB_INPUT(TRIMTAB_IN_Y, "x11")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_X, TRIMTAB_W_C, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_Z, "x12")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_A)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_B)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Z, TRIMTAB_W_B)
#define TRIMTAB_5WIDE_ROW_STRIDE2                                                           \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_X, "x7"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))                                       \
  TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_Y, "x8"))                                      \
  TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))                                       \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_Z, "x9"))  \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_B, TRIMTAB_INPUT(TRIMTAB_IN_X, "x10"), \
      TRIMTAB_WEIGHT_STEP(TRIMTAB_W_C))                                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Z, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_IN_Y, "x11")) \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_X, TRIMTAB_W_B, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_A))   \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Z, TRIMTAB_W_C, TRIMTAB_WEIGHT_STEP(TRIMTAB_W_B))   \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Y, TRIMTAB_W_C, TRIMTAB_INPUT(TRIMTAB_IN_Z, "x12")) \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_X, TRIMTAB_W_A, TRIMTAB_INPUT(TRIMTAB_W_C, "x13"))  \
  TRIMTAB_FMLA(TRIMTAB_SUM0, TRIMTAB_IN_Y, TRIMTAB_W_B)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_IN_Z, TRIMTAB_W_A)                                     \
  TRIMTAB_FMLA(TRIMTAB_SUM1, TRIMTAB_W_C, TRIMTAB_W_B)

// Begin and end of a tile of two or three pixels: sums start with the bias; optional limits.
#define TRIMTAB_BEGIN2                                   \
  TRIMTAB_LOAD_OR_STORE("ld1", "%[bias]]", TRIMTAB_SUM0) \
  TRIMTAB_LOAD_OR_STORE("ld1", "%[bias]], #64", TRIMTAB_SUM1)
#define TRIMTAB_BEGIN3 \
  TRIMTAB_LOAD_OR_STORE("ld1", "%[bias]]", TRIMTAB_SUM2) TRIMTAB_BEGIN2
#define TRIMTAB_LIMIT2(op, x) \
  TRIMTAB_EACH_VECTOR(op, x, TRIMTAB_SUM0) TRIMTAB_EACH_VECTOR(op, x, TRIMTAB_SUM1)
#define TRIMTAB_LIMIT3(op, x) TRIMTAB_LIMIT2(op, x) TRIMTAB_EACH_VECTOR(op, x, TRIMTAB_SUM2)
#define TRIMTAB_STORE2                                      \
  TRIMTAB_LOAD_OR_STORE("st1", "%[y0]], #64", TRIMTAB_SUM0) \
  TRIMTAB_LOAD_OR_STORE("st1", "%[y1]], #64", TRIMTAB_SUM1)
#define TRIMTAB_STORE3 TRIMTAB_STORE2 TRIMTAB_LOAD_OR_STORE("st1", "%[y2]], #64", TRIMTAB_SUM2)
#define TRIMTAB_ADD(pointer, bytes) "add " pointer ", " pointer ", " bytes "\n"

// A row of pixels in blocks; the last block overlaps the previous one if they do not divide it.
#define TRIMTAB_PIXEL_ROW(pixels, columns, begin, taps, end, back)     \
  "1:\n"  /* a block */                                                \
  "ldp x14, %[y0], [%[row]]\n"                                         \
  "ldp %[w], %[bias], [%[row], #24]\n"                                 \
  "ldp %[tiles], %[tail], [%[row], #40]\n"                             \
  "ldp x13, %[y1], [%[row], #56]\n"                                    \
  "add %[y2], %[y0], %[y1], lsl #1\n"                                  \
  TRIMTAB_ADD("%[y1]", "%[y0]")                                        \
  columns TRIMTAB_BEGIN_BLOCK                                          \
  "2:\n"  /* a tile of channels */                                     \
  begin taps end                                                       \
  "subs %[tiles], %[tiles], #1\n"                                      \
  "cbz %[limits], 4f\n"                                                \
  "ld2r {v12.4s, v13.4s}, [%[clamps]]\n"                               \
  TRIMTAB_LIMIT##pixels("fmax", 12)                                    \
  "tbz %[limits], #1, 4f\n"                                            \
  TRIMTAB_LIMIT##pixels("fmin", 13)                                    \
  "4:\n"                                                               \
  TRIMTAB_STORE##pixels                                                \
  "b.ne 2b\n"                                                          \
  "cbz %[tail], 5f\n"                                                  \
  TRIMTAB_ADD("%[bias]", "%[tail]") TRIMTAB_ADD("%[y0]", "%[tail]")    \
  TRIMTAB_ADD("%[y1]", "%[tail]") TRIMTAB_ADD("%[y2]", "%[tail]") back \
  "mov %[tiles], #1\n"                                                 \
  "mov %[tail], #0\n"                                                  \
  "b 2b\n"                                                             \
  "5:\n"                                                               \
  "ldr x0, [%[row], #16]\n"                                            \
  "subs x0, x0, #" #pixels "\n"                                        \
  "b.le 6f\n"                                                          \
  "str x0, [%[row], #16]\n"                                            \
  "cmp x0, #" #pixels "\n"                                             \
  "mov x1, #" #pixels "\n"                                             \
  "csel x0, x0, x1, lt\n"                                              \
  "ldp x1, x2, [%[row]]\n"                                             \
  "ldp x3, x4, [%[row], #64]\n"                                        \
  "madd x1, x0, x4, x1\n"                                              \
  "madd x2, x0, x3, x2\n"                                              \
  "stp x1, x2, [%[row]]\n"                                             \
  "b 1b\n"                                                             \
  "6:\n"

// 3x3 windows: three rows of five columns.
#define TRIMTAB_LOAD_COLUMN(p0, p1, p2) \
  "ldp " p0 ", " p1 ", [x14]\n"         \
  "ldr " p2 ", [x14, #16]\n"
#define TRIMTAB_FIFTH_COLUMN TRIMTAB_ADD("x14", "x13") TRIMTAB_LOAD_COLUMN("x12", "x13", "x14")
#define TRIMTAB_EACH_POINTER(op, x)                                                       \
  op("x0", x) op("x1", x) op("x2", x) op("x3", x) op("x4", x) op("x5", x) op("x6", x)     \
  op("x7", x) op("x8", x) op("x9", x) op("x10", x) op("x11", x) op("x12", x) op("x13", x) \
  op("x14", x)
#define TRIMTAB_3X3(pixels, fifth, taps)                              \
  TRIMTAB_PIXEL_ROW(pixels,                                           \
      TRIMTAB_LOAD_COLUMN("x0", "x1", "x2") TRIMTAB_ADD("x14", "x13") \
      TRIMTAB_LOAD_COLUMN("x3", "x4", "x5") TRIMTAB_ADD("x14", "x13") \
      TRIMTAB_LOAD_COLUMN("x6", "x7", "x8") TRIMTAB_ADD("x14", "x13") \
      TRIMTAB_LOAD_COLUMN("x9", "x10", "x11") fifth,                  \
      TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT(TRIMTAB_W_A, 0))               \
      TRIMTAB_LOAD_ONLY(TRIMTAB_INPUT(TRIMTAB_IN_X, "x0"))            \
      TRIMTAB_LOAD_ONLY(TRIMTAB_WEIGHT(TRIMTAB_W_B, 1))               \
      TRIMTAB_BEGIN##pixels,                                          \
      taps,                                                           \
      TRIMTAB_END_TILE_3X3,                                           \
      TRIMTAB_REWIND_3X3)

// Windows that are five wide. x0 to x6: ends of the columns' pointers; x14: offset of a row's
// pointers from there.
#define TRIMTAB_LOAD_POINTER(pointer, column) "ldr " pointer ", [" column ", x14]\n"
#define TRIMTAB_SEVENTH_COLUMN TRIMTAB_LOAD_POINTER("x13", "x6")
#define TRIMTAB_NEXT_COLUMN(column, before) "add " column ", " before ", x13\n"
#define TRIMTAB_5WIDE(pixels, seventh, taps)                             \
  TRIMTAB_PIXEL_ROW(pixels,                                              \
      "ldr x0, [%[row], #80]\n"                                          \
      "sub x0, x14, x0\n"                                                \
      TRIMTAB_NEXT_COLUMN("x1", "x0") TRIMTAB_NEXT_COLUMN("x2", "x1")    \
      TRIMTAB_NEXT_COLUMN("x3", "x2") TRIMTAB_NEXT_COLUMN("x4", "x3")    \
      TRIMTAB_NEXT_COLUMN("x5", "x4") TRIMTAB_NEXT_COLUMN("x6", "x5"),   \
      "ldr x14, [%[row], #80]\n"                                         \
      TRIMTAB_BEGIN##pixels                                              \
      "3:\n",                                                            \
      TRIMTAB_LOAD_POINTER("x7", "x0") TRIMTAB_LOAD_POINTER("x8", "x1")  \
      TRIMTAB_LOAD_POINTER("x9", "x2") TRIMTAB_LOAD_POINTER("x10", "x3") \
      TRIMTAB_LOAD_POINTER("x11", "x4")                                  \
      TRIMTAB_LOAD_POINTER("x12", "x5") seventh                          \
      "adds x14, x14, #8\n"                                              \
      TRIMTAB_BEGIN_ROW taps,                                            \
      "b.ne 3b\n"                                                        \
      TRIMTAB_END_TILE_5WIDE,                                            \
      TRIMTAB_REWIND_5WIDE)
// clang-format on

namespace {

constexpr size_t kRowTile = 16;
// Windows that the binary has code for.
constexpr bool kHas3x3 = trimtab::HasWindow(3, 3, 1);
constexpr bool kHas3x3Stride2 = trimtab::HasWindow(3, 3, 2);
constexpr bool kHas5Wide = trimtab::HasWindow(0, 5, 1);
constexpr bool kHas5WideStride2 = trimtab::HasWindow(0, 5, 2);

// The operands of the assembly for one row, in this order.
struct RowOfBlocks {
  const float* const* a;  // of the next block, as is y
  float* y;
  ptrdiff_t left;  // pixels
  const float *w, *bias;
  size_t tiles;    // number of complete tiles
  ptrdiff_t tail;  // bytes from their end to the last tile, which ends with the last channel; or 0
  size_t column;   // bytes between the pointers of neighboring columns
  ptrdiff_t y_step;  // bytes between neighboring pixels
  size_t a_step;     // bytes between the pointers of neighboring pixels
  ptrdiff_t window;  // bytes from the end of a column's pointers to its start
};

static_assert(offsetof(RowOfBlocks, window) == 80, "the assembly's offsets");

enum WindowKind : size_t { k3x3, k3x3Pair, k3x3Stride2, k5Wide, k5WidePair, k5WideStride2 };

#define TRIMTAB_RUN_ASSEMBLY(text)                                                                \
  __asm__ volatile(text                                                                           \
                   : [w] "=&r"(w), [bias] "=&r"(bias), [y0] "=&r"(y0), [y1] "=&r"(y1),            \
                     [y2] "=&r"(y2), [tiles] "=&r"(tiles), [tail] "=&r"(tail)                     \
                   : [row] "r"(&row), [clamps] "r"(clamps), [limits] "r"(limits)                  \
                   : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",    \
                     "x12", "x13", "x14", "x15", TRIMTAB_REGISTERS "v0", "v1", "v2", "v3", "v4",  \
                     "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",      \
                     "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
                     "v27", "v28", "v29", "v30", "v31", "cc", "memory")

__attribute__((noinline)) void DepthwiseRows(const DepthwiseArgs<float>& args, WindowKind kind) {
  const size_t over = args.channels % kRowTile;
  const float clamps[] = {args.clamp_min, args.clamp_max};
  // Absent limits cost no instruction.
  const size_t limits = clamps[1] < __builtin_inff() ? 2 : clamps[0] > -__builtin_inff() ? 1 : 0;
  TRIMTAB_NO_UNROLL
  for (size_t i = 0; i < args.rows; ++i) {
    RowOfBlocks row = {
        args.a + i * args.step_h,
        args.y + i * args.y_row_stride,
        static_cast<ptrdiff_t>(args.pixels),
        args.w,
        args.bias,
        args.channels / kRowTile,
        over == 0 ? 0 : static_cast<ptrdiff_t>((over - kRowTile) * sizeof(float)),
        args.column * sizeof(void*),
        static_cast<ptrdiff_t>(args.y_stride * sizeof(float)),
        args.step_w * args.column * sizeof(void*),
        -static_cast<ptrdiff_t>(args.kernel_h * sizeof(void*)),
    };
    const float *w, *bias;
    float *y0, *y1, *y2;
    size_t tiles;
    ptrdiff_t tail;
    __asm__("" : "+r"(kind));  // else the compiler makes one loop for each of them
    switch (kind) {
      case k3x3:
        if (kHas3x3)
          TRIMTAB_RUN_ASSEMBLY(TRIMTAB_3X3(3, TRIMTAB_FIFTH_COLUMN, TRIMTAB_3X3_ROWS_STRIDE1));
        break;
      case k3x3Pair:
        if (kHas3x3) TRIMTAB_RUN_ASSEMBLY(TRIMTAB_3X3(2, "", TRIMTAB_3X3_ROWS_PAIR));
        break;
      case k3x3Stride2:
        if (kHas3x3Stride2)
          TRIMTAB_RUN_ASSEMBLY(TRIMTAB_3X3(2, TRIMTAB_FIFTH_COLUMN, TRIMTAB_3X3_ROWS_STRIDE2));
        break;
      case k5Wide:
        if (kHas5Wide)
          TRIMTAB_RUN_ASSEMBLY(TRIMTAB_5WIDE(3, TRIMTAB_SEVENTH_COLUMN, TRIMTAB_5WIDE_ROW_STRIDE1));
        break;
      case k5WidePair:
        if (kHas5Wide) TRIMTAB_RUN_ASSEMBLY(TRIMTAB_5WIDE(2, "", TRIMTAB_5WIDE_ROW_PAIR));
        break;
      case k5WideStride2:
        if (kHas5WideStride2)
          TRIMTAB_RUN_ASSEMBLY(TRIMTAB_5WIDE(2, TRIMTAB_SEVENTH_COLUMN, TRIMTAB_5WIDE_ROW_STRIDE2));
    }
  }
}

// Windows of stride one: blocks of three pixels and, if these do not divide the row, of two.
inline void DepthwiseStride1(const DepthwiseArgs<float>& args, WindowKind triple, WindowKind pair) {
  DepthwiseArgs<float> part = args;
  const size_t paired = (3 - args.pixels % 3) % 3 * 2;
  part.pixels = args.pixels - paired;
  if (part.pixels > 0) DepthwiseRows(part, triple);
  part.a += part.pixels * part.step_w * part.column;
  part.y += part.pixels * part.y_stride;
  part.pixels = paired;
  if (paired > 0) DepthwiseRows(part, pair);
}

inline void DepthwiseByRows(const DepthwiseArgs<float>& args) {
  const bool is_3x3 = args.kernel_w == 3 && args.kernel_h == 3, has_stride2 = args.step_w == 2;
  const bool has_code = is_3x3               ? (has_stride2 ? kHas3x3Stride2 : kHas3x3)
                        : args.kernel_w == 5 ? (has_stride2 ? kHas5WideStride2 : kHas5Wide)
                                             : false;
  if (!has_code || args.channels < kRowTile || args.pixels < 2 || args.step_w > 2)
    return DepthwiseWindows<kRowTile / kLanes>(args);
  if (has_stride2) return DepthwiseRows(args, is_3x3 ? k3x3Stride2 : k5WideStride2);
  DepthwiseStride1(args, is_3x3 ? k3x3 : k5Wide, is_3x3 ? k3x3Pair : k5WidePair);
}

}  // namespace

#endif  // TRIMTAB_KERNELS_ARM_DEPTHWISE_ROW_H_
