// The contracts of all micro-kernels, and the only header that operators and kernels share.
//
// A kernel is one function, alone in a file of its name, <op>_<dtype>[_<tile>]_<isa>:
//
//     extern "C" void gemm_f32_8x8_neon(const GemmArgs<float>& args);
//
// The argument type is the contract; the family is the name up to the dtype (`gemm`), which is the
// element type T. Where kernels of a type need more arguments, such as scales and zero points, or
// write another type than they read, the argument struct is specialized for that type:
//
//     template <>
//     struct GemmArgs<int8_t> { ... };
//
// Kernels are stateless, allocate nothing and cannot fail: the calling operator validates. The
// portable member of a family supports every tile (`mr`, `nr` in the arguments), so it can replace
// any other with the same packing.
//
// Counts and strides are in elements, unless the name says `_bytes`.
#ifndef TRIMTAB_KERNELS_KERNEL_API_H_
#define TRIMTAB_KERNELS_KERNEL_API_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/camera_row.h"
#include "kernels/half.h"
#include "kernels/normalization.h"
#include "kernels/update_step.h"

// Largest tile of any kernel: bounds the stack of the portable GEMM and the tile in a model file.
enum { kMaxTileRows = 32, kMaxTileColumns = 64 };

// Indirect GEMM (Dukhan 2019, "The Indirect Convolution Algorithm") over tiles of mr rows, of which
// the last may have fewer:
//
//   c[i][j] = clamp(sum over t < taps, p < k of
//       a[(i / mr * taps + t) * mr + i % mr][p] * w[j / nr][t * k + p][j % nr] +
//       bias[j] + residual[i][j])
//
// `a` holds taps x mr row pointers per tile; entries of rows >= `rows` may be read and are valid
// pointers. Several tiles per call reduce the overhead at small depths. `w` is packed in panels of
// nr columns, panel q starting at w + q * taps * k * nr; `bias` (may be null) and the last panel
// are padded to nr. Exactly rows x columns elements of c are written. A plain matrix multiplication
// has taps = 1.
template <typename T>
struct GemmArgs {
  const T* const* a;
  const T* w;
  const T* bias;
  const T* residual;  // null, or rows x columns at residual_stride; may be c
  T* c;
  size_t taps, k;  // taps >= 1
  size_t rows;     // >= 1
  size_t columns;  // >= 1; any number of panels
  size_t c_stride, residual_stride;
  float clamp_min, clamp_max;
  uint16_t mr, nr;  // tile of the packing; only the portable kernel reads it
};

// The same for int8 values: sums are exact in 32 bits, and
//
//   c[i][j] = clamp(round(float(sum + bias[j]) * scale[j]) + zero_point)
//
// in float32, rounded half to even, as onnxruntime's QLinearConv and XNNPACK. If `slope` is not
// null, negative values are multiplied by slope[j] before rounding (PReLU); slopes, and then
// scales, are in [-1, 1]. If `dequantized` is not null, dequantized[i][j] = float(sum + bias[j]) * scale[j],
// and c is not written. The bias includes the zero point of `a`. `w` packs kr elements of the depth
// together, which kernels multiply at once: [panel][taps * k / kr][nr][kr]; k is a multiple of kr.
// `bias`, `scale` and `slope` are padded to nr.
template <>
struct GemmArgs<int8_t> {
  const int8_t* const* a;
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // null: none
  int8_t* c;
  float* dequantized;
  size_t taps, k;
  size_t rows, columns;
  size_t c_stride;                // of c or dequantized
  int32_t zero_point, low, high;  // -128 <= low <= high <= 127
  uint16_t mr, nr, kr;            // only the portable kernel reads these
  int8_t* scratch;                // mr * taps * k elements of scratch memory
  size_t steps;                   // steps per panel of paired weights
};

// Paired GEMM: the same arguments and results, for weights in an order in which the sum of two
// products of an unsigned and a signed byte fits 16 bits. The depth of each panel has an order of
// its own, in steps: [panel][step], each a PairedStep and [kPairedDepth / 4][nr][4] weights.
// Element i of a step is element base + index[i] of the depth, plus 128; the kPairedDepth elements
// from `base` on belong to one tap. `base` never decreases. `count` of a panel's first step: the
// number of `steps` used. Of every two neighbors in a column, the positive weights add up to at
// most 128, and so do the negative ones: 255 * 128 < 2^15. Elements with weight 0 are arbitrary.
// `bias` is reduced by 128 times the sum of a column's weights.
enum { kPairedDepth = 16 };
struct PairedStep {
  uint32_t base, count;
  uint8_t unused[8];
  uint8_t index[kPairedDepth];  // < kPairedDepth
};
template <typename T>
using PairedGemmArgs = GemmArgs<T>;

// A row of each of `planes` planes, y_plane elements apart, as a sum of rows:
//
//   y[p * y_plane + i] = clamp(bias[p] + sum over t < taps of w[t * planes + p] * x[offsets[t] + i])
//
// for i < n. Whole vectors of x are read. If `line_taps` is not 0, there is one plane, and also its
// next row, y_plane elements further: its taps are those from line_taps on, of which there are as
// many, with the same weights.
template <typename T>
struct PlaneRowsArgs {
  const T* x;
  const size_t* offsets;
  const T *w, *bias;  // bias: or null
  T* y;
  size_t taps, planes, n, y_plane, line_taps;
  float clamp_min, clamp_max;
};

// Depthwise convolution of a block of rows x pixels neighboring output pixels:
//
//   y[r * y_row_stride + p * y_stride + c] = clamp(bias[c] + sum over i < kernel_h, j < kernel_w of
//       a[(p * step_w + j) * column + r * step_h + i][c] * w[tile][i][j][lane])
//
// A column of pointers serves all rows, and pixels that share columns have step_w < kernel_w. If
// step_w is 1, pointers to taps inside of the image are evenly spaced in each line; pointers to the
// padding row are only at its ends. `w` is packed in tiles of nr channels
// ([tile][kernel_h][kernel_w][nr]); the last tile begins at channel channels - nr and overlaps the
// previous one, or, for fewer than nr channels, is padded.
template <typename T>
struct DepthwiseArgs {
  const T* const* a;
  const T* w;
  const T* bias;  // of `channels` elements
  T* y;
  size_t kernel_h, kernel_w;
  size_t column, step_h, step_w;
  size_t rows, pixels, channels;
  size_t y_stride, y_row_stride;
  float clamp_min, clamp_max;
  uint16_t nr;
};

// The same for int8 values, as in GemmArgs<int8_t>; `bias`, `scale` and `slope` have `channels`
// elements.
template <>
struct DepthwiseArgs<int8_t> {
  const int8_t* const* a;
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // null: none
  int8_t* y;
  size_t kernel_h, kernel_w;
  size_t column, step_h, step_w;
  size_t rows, pixels, channels;
  size_t y_stride, y_row_stride;
  int32_t zero_point, low, high;
  uint16_t nr;
};

// Minimum number of channels of the Winograd transforms, a multiple of every vector: a kernel's
// last vector may overlap the previous one.
enum { kMinWinogradChannels = 16 };

// Input transform of one tile of Winograd convolution F(m x m, r x r) (Lavin & Gray 2016): with n =
// m + r - 1 = size = 4 to 8, element i * n + j of y is (B^T x B)[i][j] for every channel, where
// x[i][j] is the pixel at a[i * n + j]. B and, with strides, n: kernels/generic/winograd.h and
// kWinogradTiles.
template <typename T>
struct WinogradInputArgs {
  const T* const* a;
  T* y;             // element e at y + e * y_stride
  size_t channels;  // >= kMinWinogradChannels
  size_t y_stride;
  uint16_t tile,
      size;  // m and n; only the portable kernel reads them
};

// The same for int8 values, F(4 x 4, 3 x 3) only: 100 times an int8 value fits 16 bits.
template <>
struct WinogradInputArgs<int8_t> {
  const int8_t* const* a;
  int16_t* y;
  size_t channels;
  size_t y_stride;
};

// GEMM of transformed int8 tiles and transformed weights, modulo 2^32:
//
//   c[i][j] = sum over p < k of a[i][p] * w[j / nr][p / kr][j % nr][p % kr]
//
// for all columns, a multiple of nr; k is a multiple of kr.
template <typename T>
struct WinogradProductArgs;
template <>
struct WinogradProductArgs<int8_t> {
  const int16_t* a;
  const int16_t* w;
  int32_t* c;
  size_t k, rows, columns;
  size_t a_stride, c_stride;
  uint16_t nr, kr;  // only the portable kernel reads these
};

// The supported (m, n) of output transforms for r taps and strides. With strides of 2 (Yepez & Ko
// 2020) a tile has n = 2 * m + r - 2 inputs and as many products.
struct WinogradTile {
  uint16_t tile, size, taps, stride;
};
constexpr WinogradTile kWinogradTiles[] = {{2, 4, 3, 1}, {3, 5, 3, 1}, {4, 5, 2, 1}, {2, 6, 5, 1},
                                           {3, 6, 4, 1}, {4, 6, 3, 1}, {5, 7, 3, 1}, {4, 8, 5, 1},
                                           {5, 8, 4, 1}, {6, 8, 3, 1}, {2, 5, 3, 2}};

// Weight transform: element i * n + j of y is (G x G^T)[i][j] for every column, where x[i][j] is
// the weight at w[i * r + j]. G: kernels/generic/winograd.h.
template <typename T>
struct WinogradWeightsArgs {
  const T* const* w;
  T* y;            // element e at y + e * y_stride
  size_t columns;  // >= kMinWinogradChannels
  size_t y_stride;
  uint16_t tile, size;  // m and n; only the portable kernel reads them
};

// Output transform of one tile of products: y[i][j] = clamp((A^T x A)[i][j] + bias +
// residual[i][j]) for the first rows x columns pixels of the tile.
template <typename T>
struct WinogradOutputArgs {
  const T* x;         // element e at x + e * x_stride
  const T* bias;      // null, or `channels` elements
  const T* residual;  // null, or pixels with their own strides
  T* y;
  size_t channels;  // >= kMinWinogradChannels
  size_t x_stride;
  size_t rows, columns;  // 1 .. tile
  size_t row_stride, pixel_stride;
  size_t residual_row_stride, residual_pixel_stride;
  float clamp_min, clamp_max;
  uint16_t tile, size;  // m and n; only the portable kernel reads them
};

// The same for int8 values, F(4 x 4, 3 x 3) only. Weights are transformed by 24 G, except its last
// row by 6 G: here the matching column of A^T is 4 times as large. So elements of y are 576 times
// the sums of the convolution, modulo 2^32. 576 = 2^6 * 9, and 9 has an inverse modulo 2^32, so
// sums below 2^25 are exact, whatever overflowed in between. sum + bias is requantized as in
// GemmArgs<int8_t>.
template <>
struct WinogradOutputArgs<int8_t> {
  const int32_t* x;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // null: none
  int8_t* y;
  size_t channels;
  size_t x_stride;
  size_t rows, columns;
  size_t row_stride, pixel_stride;
  int32_t zero_point, low, high;
};

// One row of each quadrant of the left-hand side of Strassen's algorithm in Winograd's form, and
// its sums: s1 = a21 + a22, s2 = s1 - a11, s3 = a11 - a21, s4 = a12 - s2, side by side at s.
template <typename T>
struct StrassenSumsArgs {
  const T *a11, *a12, *a21, *a22;
  T* s;  // 4 * n elements
  size_t n;
};

// One row of the upper and one of the lower half of the results before the last products, 2 * n
// elements each: top = (p1, u4) and bottom = (u3, u2). u2 becomes c22 = clamp(u3 + u4 - u2 +
// residual); then the residual is added to the others.
template <typename T>
struct StrassenResultsArgs {
  T* top;
  T* bottom;                                // null: no lower row
  const T *residual_top, *residual_bottom;  // null, or laid out as top and bottom
  size_t n;
  float clamp_min, clamp_max;
};

// Pooling of `pixels` neighboring output pixels over their windows:
//   max_pool:      y[p][c] = max over i < kernel_h, j < kernel_w of x(p, i, j)[c]
//   average_pool:  y[p][c] = scale[p] * sum over i < kernel_h, j < kernel_w of x(p, i, j)[c]
// where x(p, i, j) = a[(p * step_w + j) * kernel_h + i]; pixels share columns of pointers if step_w
// < kernel_w.
template <typename T>
struct PoolArgs {
  const T* const* a;
  const float* scale;  // average_pool only
  T* y;
  size_t kernel_h, kernel_w, step_w;
  size_t pixels, channels;
  size_t y_stride;
};

// y[i] = f(x[i]); x == y is allowed. The operator's schema defines alpha and beta.
template <typename T>
struct UnaryArgs {
  const T* x;
  T* y;
  size_t n;
  float alpha, beta;
};

// y[i] = f(a[i * a_step], b[i * b_step]) with steps 0 (a scalar) or 1, for `rows` rows of n
// elements that begin a_row, b_row and y_row elements apart, one after the other: with a = y and
// rows of 0 elements, f combines all rows of b. y may be a or b.
template <typename T>
struct BinaryArgs {
  const T* a;
  const T* b;
  T* y;
  size_t n, rows;
  size_t a_row, b_row, y_row;
  uint8_t a_step, b_step;
};

// y[i] = round(x[i] / scale) + zero_point, half to even, saturated to [low, high], the range of a
// signed or unsigned byte.
template <typename T>
struct QuantizeArgs {
  const T* x;
  uint8_t* y;
  size_t n;
  float scale;
  int32_t zero_point, low, high;
};

// y[i] = table[uint8(x[i])] for int8 values. x == y is allowed.
template <typename T>
struct LookUpArgs {
  const T* x;
  const T* table;  // 256
  T* y;
  size_t n;
};

// y[i] = clamp(round(a[i] * a_scale + (b[i] * b_scale + offset))), half to even, in float32; both
// sums are fused multiply-adds, as in onnxruntime. y may be a or b.
template <typename T>
struct QlinearAddArgs {
  const T *a, *b;
  T* y;
  size_t n;
  float a_scale, b_scale, offset;
  int32_t low, high;
};

// The channels of sums are padded to a multiple of this, which is one of every vector.
enum { kMeanUnit = 64 };

// sum[c] = start[c] + sum over i < pixels of x[i * x_stride + c], which fits 32 bits. If `sums` is
// not null, it receives these; otherwise
//
//   y[c] = clamp(round(float(sum[c]) * scale) + zero_point), half to even.
//
// `start` and `sums` do not overlap and are padded to a multiple of kMeanUnit channels.
template <typename T>
struct QlinearMeanArgs {
  const T* x;
  const int32_t* start;
  int32_t* sums;
  T* y;
  size_t pixels, channels, x_stride;
  float scale;
  int32_t zero_point, low, high;
};

// y[i] = clamp(round(float((a[i] - a_zero_point) * (b[i] - b_zero_point)) * scale) + zero_point), half
// to even; y may be a or b.
template <typename T>
struct QlinearMulArgs {
  const T *a, *b;
  T* y;
  size_t n;
  int32_t a_zero_point, b_zero_point;
  float scale;
  int32_t zero_point, low, high;
};

// y[p][c] = clamp(round(float(bias + sum over all taps of x(p, i, j)[c]) * scale[p]) + zero_point),
// half to even, with windows as in PoolArgs.
template <typename T>
struct QlinearPoolArgs {
  PoolArgs<T> pool;
  int32_t bias, zero_point, low, high;
};

using KernelFunction = void (*)();

#endif  // TRIMTAB_KERNELS_KERNEL_API_H_
