// The contracts of all micro-kernels, and the only header that operators and kernels share.
//
// A kernel is one function, alone in a file of its name, <op>_<dtype>[_<tile>]_<isa>:
//
//     extern "C" void gemm_f32_8x8_neon(const GemmArgs<float>& args);
//
// The function's argument type is its contract; the family is the name up to the dtype (`gemm`),
// which is that of the elements, T. Where kernels of a type need to know more, as scales and zero
// points, or write another type than they read, the arguments are a specialization for that type:
//
//     template <>
//     struct GemmArgs<int8_t> { ... };
//
// Kernels are stateless, allocate nothing and cannot fail: validation is done by the operator that
// calls them. The portable member of a family understands every tile (`mr`, `nr` in the arguments),
// so it can stand in for any other with the same packing.
//
// Counts are in elements, strides in elements too unless the name says `_bytes`.
#ifndef TRIMTAB_KERNELS_KERNEL_API_H_
#define TRIMTAB_KERNELS_KERNEL_API_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/half.h"

// Largest tile of any kernel: bounds the stack of the portable GEMM and what a model file may ask
// for.
enum { kMaxTileRows = 32, kMaxTileColumns = 64 };

// Indirect GEMM (Dukhan 2019, "The Indirect Convolution Algorithm") over tiles of mr rows, of which
// the last may have fewer:
//
//   c[i][j] = clamp(sum over t < taps, p < k of
//       a[(i / mr * taps + t) * mr + i % mr][p] * w[j / nr][t * k + p][j % nr] +
//       bias[j] + residual[i][j])
//
// `a` holds taps x mr row pointers of each tile; entries of rows >= `rows` may be read but are
// valid pointers. Several tiles in a call spare those of a small depth what a call costs. `w` is
// packed in panels of nr columns, panel q starting at w + q * taps * k * nr; `bias` (may be null)
// and the last panel are padded to nr. Exactly rows x columns elements of c are written. A plain
// matrix product has taps = 1.
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
  uint16_t mr, nr;  // the packing's tile; read by the portable kernel only
};

// The same of quantized numbers: the sums are of 32 bits, and exact, and
//
//   c[i][j] = clamp(round(float(sum + bias[j]) * scale[j]) + zero_point)
//
// in float32, rounded half to even: what onnxruntime's QLinearConv and XNNPACK compute. Where `slope`
// is not null, what is less than 0 is multiplied by slope[j] before it is rounded, as PReLU does; slopes
// are from -1 to 1 then, and scales between these.
// Where `reals` is not null, reals[i][j] = float(sum + bias[j]) * scale[j], and c is not written. The
// zero point of `a` is in the bias. `w` has kr elements of the depth side by side, as kernels multiply
// them: [panel][taps * k / kr][nr][kr]; k is a multiple of kr. `bias`, `scale` and `slope` are padded
// to nr.
template <>
struct GemmArgs<int8_t> {
  const int8_t* const* a;
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // or null
  int8_t* c;
  float* reals;
  size_t taps, k;
  size_t rows, columns;
  size_t c_stride;                // of either
  int32_t zero_point, low, high;  // -128 <= low <= high <= 127
  uint16_t mr, nr, kr;            // read by the portable kernel only
  int8_t* scratch;                // mr * taps * k elements that a kernel may write to
  size_t steps;                   // of a panel of paired weights
};

// Paired products take the same arguments and give the same results, of weights in an order in which
// a sum of two products of bytes, the rows' without sign, fits 16 bits.
// The depth of each panel has an order of its own, in steps: [panel][step], each a PairedStep and
// [kPairedDepth / 4][nr][4] weights. Element i of a step is element place + index[i] of the depth,
// plus 128; the kPairedDepth elements from `place` on are of one tap. No place is less than the one
// before. `count`, of a panel's first step, says how many of `steps` there are.
// Of every two neighbors in a column, the positive weights add up to at most 128, and so do the
// negative ones: 255 * 128 < 2^15. An element whose weight is 0 may be any. `bias` is less 128 times
// the sum of a column's weights.
enum { kPairedDepth = 16 };
struct PairedStep {
  uint32_t place, count;
  uint8_t unused[8];
  uint8_t index[kPairedDepth];  // < kPairedDepth
};
template <typename T>
using PairedGemmArgs = GemmArgs<T>;

// Depthwise convolution of a block of rows x pixels neighboring output pixels:
//
//   y[r * y_row_stride + p * y_stride + c] = clamp(bias[c] + sum over i < kernel_h, j < kernel_w of
//       a[(p * step_w + j) * column + r * step_h + i][c] * w[tile][i][j][lane])
//
// So a column of pointers serves all rows, and pixels that share columns have step_w < kernel_w. Where
// step_w is 1, pointers to taps inside of the image are evenly spaced in each line, and stand between
// those to padding, one and the same row, at its ends.
// `w` is packed in tiles of nr channels ([tile][kernel_h][kernel_w][nr]); the last tile begins at
// channel channels - nr and overlaps the one before, or, of fewer than nr channels, is padded.
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

// The same of quantized numbers, as for GemmArgs<int8_t>; `bias`, `scale` and `slope` of `channels`
// elements.
template <>
struct DepthwiseArgs<int8_t> {
  const int8_t* const* a;
  const int8_t* w;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // or null
  int8_t* y;
  size_t kernel_h, kernel_w;
  size_t column, step_h, step_w;
  size_t rows, pixels, channels;
  size_t y_stride, y_row_stride;
  int32_t zero_point, low, high;
  uint16_t nr;
};

// Fewest channels of the Winograd transforms, a multiple of every vector: a kernel's last vector
// may overlap the one before it.
enum { kMinWinogradChannels = 16 };

// Transforms one tile of Winograd convolution F(m x m, r x r) (Lavin & Gray 2016): with
// n = m + r - 1 = size = 4 to 8, element i * n + j of y is (B^T x B)[i][j] for every channel,
// where x[i][j] is the pixel at a[i * n + j]. B is that of kernels/generic/winograd.h; so is n with
// strides (kWinogradTiles).
template <typename T>
struct WinogradInputArgs {
  const T* const* a;
  T* y;             // element e at y + e * y_stride
  size_t channels;  // >= kMinWinogradChannels
  size_t y_stride;
  uint16_t tile,
      size;  // m and n, read by the portable kernel only; others have them in their names
};

// The same of quantized numbers, F(4 x 4, 3 x 3) alone: 100 times what a byte holds fits 16 bits.
template <>
struct WinogradInputArgs<int8_t> {
  const int8_t* const* a;
  int16_t* y;
  size_t channels;
  size_t y_stride;
};

// Products of transformed tiles of quantized numbers by transformed weights, modulo 2^32:
//
//   c[i][j] = sum over p < k of a[i][p] * w[j / nr][p / kr][j % nr][p % kr]
//
// for all columns, a multiple of nr; k is one of kr.
template <typename T>
struct WinogradProductArgs;
template <>
struct WinogradProductArgs<int8_t> {
  const int16_t* a;
  const int16_t* w;
  int32_t* c;
  size_t k, rows, columns;
  size_t a_stride, c_stride;
  uint16_t nr, kr;  // read by the portable kernel only
};

// (m, n) of the transforms back that there are, for r taps and strides. With strides of 2 (Yepez & Ko
// 2020) n = 2 * m + r - 2 inputs lie under a tile, and make as many products.
struct WinogradTile {
  uint16_t tile, size, taps, stride;
};
constexpr WinogradTile kWinogradTiles[] = {{2, 4, 3, 1}, {3, 5, 3, 1}, {4, 5, 2, 1}, {2, 6, 5, 1},
                                           {3, 6, 4, 1}, {4, 6, 3, 1}, {5, 7, 3, 1}, {4, 8, 5, 1},
                                           {5, 8, 4, 1}, {6, 8, 3, 1}, {2, 5, 3, 2}};

// Transforms the weights: element i * n + j of y is (G x G^T)[i][j] for every column, where x[i][j]
// is the weight at w[i * r + j]. G is that of kernels/generic/winograd.h.
template <typename T>
struct WinogradWeightsArgs {
  const T* const* w;
  T* y;            // element e at y + e * y_stride
  size_t columns;  // >= kMinWinogradChannels
  size_t y_stride;
  uint16_t tile, size;  // m and n, read by the portable kernel only
};

// Transforms one tile of products back: y[i][j] = clamp((A^T x A)[i][j] + bias + residual[i][j])
// for the first rows x columns pixels of the tile.
template <typename T>
struct WinogradOutputArgs {
  const T* x;         // element e at x + e * x_stride
  const T* bias;      // null, or `channels` elements
  const T* residual;  // null, or pixels with strides of their own
  T* y;
  size_t channels;  // >= kMinWinogradChannels
  size_t x_stride;
  size_t rows, columns;  // 1 .. tile
  size_t row_stride, pixel_stride;
  size_t residual_row_stride, residual_pixel_stride;
  float clamp_min, clamp_max;
  uint16_t tile, size;  // m and n, read by the portable kernel only
};

// The same of quantized numbers, F(4 x 4, 3 x 3) alone. Weights are transformed by 24 G, but its last
// row, 6 G: the column of A^T that it meets is 4 times as large here. So tiles of y are 576 times the
// sums of the convolution, modulo 2^32: 576 = 2^6 * 9, and 9 has an inverse there, so that sums of
// less than 2^25 are what they are, whatever overflowed on the way. What becomes of sum + bias is as
// for GemmArgs<int8_t>.
template <>
struct WinogradOutputArgs<int8_t> {
  const int32_t* x;
  const int32_t* bias;
  const float* scale;
  const float* slope;  // or null
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

// One row of the upper and one of the lower half of its results before the last products, 2 * n
// elements each: top = (p1, u4) and bottom = (u3, u2). u2 becomes c22 = clamp(u3 + u4 - u2 +
// residual); after that the residual is added to the others.
template <typename T>
struct StrassenResultsArgs {
  T* top;
  T* bottom;                                // null: there is no such row
  const T *residual_top, *residual_bottom;  // null, or laid out as top and bottom
  size_t n;
  float clamp_min, clamp_max;
};

// Pooling of `pixels` neighboring output pixels over their windows:
//   max_pool:      y[p][c] = max over i < kernel_h, j < kernel_w of x(p, i, j)[c]
//   average_pool:  y[p][c] = scale[p] * sum over i < kernel_h, j < kernel_w of x(p, i, j)[c]
// where x(p, i, j) = a[(p * step_w + j) * kernel_h + i], so that pixels share columns of pointers
// when step_w < kernel_w.
template <typename T>
struct PoolArgs {
  const T* const* a;
  const float* scale;  // average_pool only
  T* y;
  size_t kernel_h, kernel_w, step_w;
  size_t pixels, channels;
  size_t y_stride;
};

// y[i] = f(x[i]); x == y is allowed. The operator's schema says what alpha and beta mean.
template <typename T>
struct UnaryArgs {
  const T* x;
  T* y;
  size_t n;
  float alpha, beta;
};

// y[i] = f(a[i * a_step], b[i * b_step]) with steps 0 (a scalar) or 1, for `rows` rows of n
// elements that begin a_row, b_row and y_row elements apart; y may be a or b.
template <typename T>
struct BinaryArgs {
  const T* a;
  const T* b;
  T* y;
  size_t n, rows;
  size_t a_row, b_row, y_row;
  uint8_t a_step, b_step;
};

// Softmax or log-softmax of one row of n elements that lie `stride` apart; x == y is allowed.
template <typename T>
struct SoftmaxArgs {
  const T* x;
  T* y;
  size_t n, stride;
};

// y[i] = saturate(round(x[i] / scale) + zero_point) to [low, high], which a byte holds; half to even.
template <typename T>
struct QuantizeArgs {
  const T* x;
  uint8_t* y;
  size_t n;
  float scale;
  int32_t zero_point, low, high;
};

// y[i] = table[x[i]], of bytes: of negative ones, the place is that of the same bits without sign.
// x == y is allowed.
template <typename T>
struct LookUpArgs {
  const T* x;
  const T* table;  // 256
  T* y;
  size_t n;
};

// y[i] = clamp(round(a[i] * a_scale + (b[i] * b_scale + offset))), half to even, in float32; both
// sums are fused with their products, as onnxruntime has them. y may be a or b.
template <typename T>
struct QlinearAddArgs {
  const T *a, *b;
  T* y;
  size_t n;
  float a_scale, b_scale, offset;
  int32_t low, high;
};

// Room that the sums of channels take, in whole units: every vector's.
enum { kMeanUnit = 64 };

// sum[c] = start[c] + sum over i < pixels of x[i * x_stride + c], which 32 bits hold. Where `sums` is
// not null it holds these; otherwise
//
//   y[c] = clamp(round(float(sum[c]) * scale) + zero_point), half to even.
//
// Start and sums are not the same, and have room for channels in units of kMeanUnit.
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
// half to even, of windows as `pool` has them.
template <typename T>
struct QlinearPoolArgs {
  PoolArgs<T> pool;
  int32_t bias, zero_point, low, high;
};

using KernelFunction = void (*)();

#endif  // TRIMTAB_KERNELS_KERNEL_API_H_
