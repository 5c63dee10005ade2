// Convolution as Winograd F(m x m, r x r): a transform of input tiles of n x n pixels, n = m + r -
// 1, a GEMM for each of the n^2 elements of a transformed tile, and a transform of the results.
//
// Tiles are processed in blocks. A transformed block is [tile][element][channel], so that the GEMMs
// are those of a grouped 1x1 convolution: elements are the groups, tiles the rows.
//
// A convolution with strides of s is one with strides of 1 after space-to-depth: a cell is s x s
// pixels, its channels are those of all its pixels, and a kernel of k covers r = ceil(k / s) cells.
// Kernels that have tiles for the strides themselves need no space-to-depth.
//
// A convolution with a dilation of d is one without on each of d x d phases of the image.
#include "generated/attributes/conv_winograd.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/window.h"
#include "runtime/ops/winograd_tiles.h"

namespace trimtab {
namespace {

constexpr int kMaxSize = 8;  // of a tile's input
constexpr int64_t kOnes[] = {1, 1};

// Copies `count` runs of elements to destinations `stride` apart. Runs are short: they are copied
// in pieces of 16 bytes, or of 8 if they are shorter; the last piece may overlap the previous one.
// Not inlined, so that all its variables are in registers.
template <typename T>
__attribute__((noinline)) void CopyRuns(T* to, size_t stride, const T* from, size_t from_stride,
                                        size_t run, int32_t count) {
  constexpr size_t kStep = 16 / sizeof(T), kHalf = kStep / 2;
  const auto each = [&](const auto& copy) {
    for (; count > 0; --count, to += stride, from += from_stride) copy();
  };
  if (run < kHalf) {
    each([&] {
      for (size_t i = 0; i < run; ++i) to[i] = from[i];
    });
  } else if (run < kStep) {
    each([&] {
      memcpy(to, from, kHalf * sizeof(T));
      memcpy(to + run - kHalf, from + run - kHalf, kHalf * sizeof(T));
    });
  } else {
    each([&] {
      const auto step = [&](size_t i) { memcpy(to + i, from + i, kStep * sizeof(T)); };
      for (size_t i = 0; i < run - kStep; i += kStep) step(i);
      step(run - kStep);
    });
  }
}

template <typename T>
class ConvWinograd final : public OperatorOf<ConvWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Status BindTransforms();
  bool is_dilated() const { return attributes().dilation != 1; }
  size_t dilation() const { return static_cast<size_t>(attributes().dilation); }
  Tile TileAt(size_t index) const {
    const Tile tile = tiles_.At(index);
    return is_dilated() ? Phases(output(), attributes().dilation).InImage(tile) : tile;
  }
  bool IsEmpty(size_t index) const {
    return index >= tiles_.count || (is_dilated() && TileAt(index).rows == 0);
  }
  void CopyCells(const Tile& tile, size_t tiles, const T* zeros, T* cells) const;
  void PointAtCells(const T* cells, size_t tiles, size_t tile, const T** a) const;
  void TransformOutput(const Tile& tile, const T* products) const;

  // Without space-to-depth the transform reads pixels through pointers.
  bool uses_cells() const { return cell_side_ > 1; }
  size_t elements() const { return size_ * size_; }
  // Cells in a row that `tiles` neighboring tiles read.
  size_t cells_of(size_t tiles) const { return tiles * tiles_.side + size_ - tiles_.side; }
  // Elements of the cells that a row of tiles reads.
  uint64_t band() const {
    return uses_cells() ? uint64_t{size_} * cells_of(tiles_.columns) * channels_ : 0;
  }
  size_t gap() const { return static_cast<size_t>(attributes().gap); }
  size_t input_stride() const { return elements() * channels_ + gap(); }
  size_t product_stride() const { return elements() * output().c() + gap(); }

  Window window_;
  size_t size_ = 0;        // n
  int32_t cell_side_ = 1;  // height and width of a cell in pixels
  size_t depth_ = 0;       // channels of a cell
  size_t channels_ = 0;    // the same, padded to whole vectors
  Epilogue<T> epilogue_;
  GemmDriver<T> gemm_;
  Kernel<WinogradInputArgs<T>> input_kernel_ = nullptr;
  Kernel<WinogradOutputArgs<T>> output_kernel_ = nullptr;
  ImageTiles tiles_;
  size_t share_ = 0;  // tiles per thread
  size_t block_ = 0;  // tiles of a thread's share per block
};

template <typename T>
Status ConvWinograd<T>::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  const int64_t dilations[] = {attributes().dilation, attributes().dilation};
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution(
      {x, w, optional_input(2), optional_input(3)}, attributes().strides, attributes().pads,
      {is_dilated() ? dilations : kOnes, 2}, &window_, &output().dims));
  TRIMTAB_CHECK(w.dims[1] == x.c() && w.dims[2] == w.dims[3],
                "weights must be square and fit the input's channels", x.c());
  TRIMTAB_CHECK(window_.stride_h == window_.stride_w, "strides must be equal", window_.stride_h,
                window_.stride_w);
  TRIMTAB_CHECK(!is_dilated() || window_.stride_h == 1, "a dilation requires strides of 1",
                window_.stride_h);
  const WinogradTile* const tile =
      FindWinogradTile(attributes().tile, window_.kernel_h, window_.stride_h);
  TRIMTAB_CHECK(tile != nullptr, "there is no Winograd tile of this size for this kernel",
                attributes().tile, window_.kernel_h);
  size_ = tile->size;
  cell_side_ = window_.stride_h / tile->stride;
  TRIMTAB_CHECK(
      (uses_cells() || x.c() >= kMinWinogradChannels) && w.dims[0] >= kMinWinogradChannels,
      "there are too few channels (input, output)", x.c(), w.dims[0]);
  return Status();
}

template <typename T>
Status ConvWinograd<T>::BindTransforms() {
  const KernelRef &in = attributes().input_kernel, &out = attributes().output_kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_input")>(in, &input_kernel_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_output")>(out, &output_kernel_));
  // A kernel without a tile in its name is the portable one, which computes any tile. The input
  // transform with strides has the tile in its name, too.
  const int64_t in_tile = window_.stride_h > cell_side_ ? attributes().tile : 0;
  TRIMTAB_CHECK((in.nr == 0 || (in.nr == size_ && in.mr == in_tile)) &&
                    (out.nr == 0 || (out.nr == size_ && out.mr == attributes().tile)),
                "the plan's transforms are for tiles of another size");
  return Status();
}

template <typename T>
Status ConvWinograd<T>::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(BindTransforms());
  const Tensor &x = input(0), &y = output();
  const int64_t tile = attributes().tile;
  const int64_t depth = cell_side_ * cell_side_ * x.c(), c_out = y.c();
  const int64_t elements = static_cast<int64_t>(this->elements());
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(ProductPlan(attributes()), input(1), nullptr, elements, c_out,
                                     depth, 1, depth, threads()));
  depth_ = static_cast<size_t>(depth);
  channels_ = uses_cells() ? RoundUp(depth_, size_t{kMinWinogradChannels}) : depth_;
  const int64_t c_in = static_cast<int64_t>(channels_);
  TRIMTAB_CHECK(!has_input(2) || input(2).bytes / sizeof(T) >= static_cast<size_t>(c_out),
                "bias is too short", c_out);
  const size_t side = static_cast<size_t>(tile);
  tiles_ = is_dilated() ? Phases(y, attributes().dilation).Tiles(y, side) : ImageTiles(y, side);
  const int64_t share = (static_cast<int64_t>(tiles_.count) + threads() - 1) / threads();
  share_ = static_cast<size_t>(share);
  block_ = EvenBlocks(share_, static_cast<size_t>(attributes().block), gemm_.mr());
  const int64_t per_tile = elements * (c_in + c_out) + 2 * attributes().gap;
  const int64_t cell_buffers = static_cast<int64_t>(band());
  const int64_t bytes = threads() * (static_cast<int64_t>(block_) * per_tile + cell_buffers) *
                        static_cast<int64_t>(sizeof(T));
  return RequestScratch(gemm_.scratch_bytes() + static_cast<uint64_t>(bytes));
}

// Copies the cells that neighboring tiles of a row read, channels_ apart, row by row; cells that
// two tiles read are copied once. Cells may contain padding of the image; the padding of their
// channels is not written.
template <typename T>
void ConvWinograd<T>::CopyCells(const Tile& tile, size_t tiles, const T* zeros, T* cells) const {
  const Tensor& x = input(0);
  const int32_t stride = cell_side_, w = x.w();
  const size_t channels = static_cast<size_t>(x.c()), pixel_stride = x.pixel_stride();
  const size_t columns = cells_of(tiles), cell_row = stride * channels;
  const T* const image = x.data<T>() + tile.image * x.h() * w * pixel_stride;
  const int32_t left = static_cast<int32_t>(tile.left) * stride - window_.pad_left;
  int32_t row = static_cast<int32_t>(tile.top) * stride - window_.pad_top;
  const int32_t pixels = static_cast<int32_t>(columns) * stride;
  for (size_t i = 0; i < size_; ++i, cells += columns * channels_) {
    for (int32_t line = 0; line < stride; ++line, ++row) {
      TapRange inside = TapsInside(pixels, left, 1, w);
      if (row < 0 || row >= x.h()) inside = {pixels, pixels};
      T* const to = cells + line * cell_row;
      for (int32_t j = 0, count; j < pixels; j += count) {
        const bool is_padding = j < inside.begin || j >= inside.end;
        const int32_t end = j < inside.begin ? inside.begin : is_padding ? pixels : inside.end;
        // Copies a row of a cell at once if its pixels are contiguous.
        const bool in_one_piece = is_padding || pixel_stride == channels;
        const int32_t part = j % stride, whole = (end - j) / stride;
        const bool are_whole = part == 0 && whole > 0 && in_one_piece;
        const size_t run = are_whole ? cell_row : channels;
        const size_t offset = (static_cast<size_t>(row) * w + left + j) * pixel_stride;
        CopyRuns(to + j / stride * channels_ + part * channels, channels_,
                 is_padding ? zeros : image + offset, is_padding ? 0 : run, run,
                 are_whole ? whole : 1);
        count = are_whole ? whole * stride : 1;
      }
    }
  }
}

// Writes pointers to the cells of one tile.
template <typename T>
void ConvWinograd<T>::PointAtCells(const T* cells, size_t tiles, size_t tile, const T** a) const {
  const size_t row_stride = cells_of(tiles) * channels_;
  cells += tile * tiles_.side * channels_;
  for (size_t i = 0; i < size_; ++i, cells += row_stride) {
    for (size_t j = 0; j < size_; ++j) *a++ = cells + j * channels_;
  }
}

template <typename T>
void ConvWinograd<T>::TransformOutput(const Tile& tile, const T* products) const {
  Tensor& y = output();
  const T* const residual = optional_data<T>(3);
  const size_t channels = static_cast<size_t>(y.c());
  const size_t pixel = (tile.image * y.h() + tile.top) * static_cast<size_t>(y.w()) + tile.left;
  WinogradOutputArgs<T> args;
  args.x = products;
  args.bias = optional_data<T>(2);
  args.residual = nullptr;
  if (residual != nullptr) {
    args.residual_pixel_stride = input(3).pixel_stride() * dilation();
    args.residual_row_stride = static_cast<size_t>(y.w()) * args.residual_pixel_stride;
    args.residual = residual + pixel * input(3).pixel_stride();
  }
  args.pixel_stride = y.pixel_stride() * dilation();
  args.row_stride = static_cast<size_t>(y.w()) * args.pixel_stride;
  args.y = y.data<T>() + pixel * y.pixel_stride();
  args.channels = args.x_stride = channels;
  args.rows = tile.rows;
  args.columns = tile.columns;
  args.clamp_min = epilogue_.clamp_min;
  args.clamp_max = epilogue_.clamp_max;
  args.tile = static_cast<uint16_t>(attributes().tile);
  args.size = static_cast<uint16_t>(size_);
  output_kernel_(args);
  for (size_t i = 0; i < tile.rows; ++i)
    epilogue_.Activate(args.y + i * args.row_stride, tile.columns, channels, args.pixel_stride);
}

// A block has the same number of tiles of each thread's share of the image, so that a thread reads
// and writes the pixels that it also computes in the operators before and after.
template <typename T>
void ConvWinograd<T>::Run(ThreadPool& pool) {
  const size_t threads = static_cast<size_t>(pool.threads());
  T* const transformed = scratch<T>(static_cast<size_t>(gemm_.scratch_bytes()));
  T* const products = transformed + threads * block_ * input_stride();
  T* const cell_buffers = products + threads * block_ * product_stride();
  const size_t band = static_cast<size_t>(this->band());  // it fits into scratch memory
  if (channels_ > depth_) memset(cell_buffers, 0, threads * band * sizeof(T));
  const T* const zeros = gemm_.Zeros(scratch<void>());
  StridedRows<T> rows{transformed, input_stride(), depth_, channels_};
  const Epilogue<T> none{-__builtin_inff(), __builtin_inff(), 0.0f, 0.0f};
  GemmJob<T> job;
  job.point = PointAtStridedRows<T>;
  job.context = &rows;
  job.w = data<T>(1);
  job.bias = job.residual = nullptr;
  job.c = products;
  job.groups = elements();
  job.columns = static_cast<size_t>(output().c());
  job.depth = rows.k;
  job.row_stride = product_stride();
  const size_t cost = kFunctionCost * elements();
  for (size_t first = 0; first < share_; first += block_) {
    const size_t count = share_ - first < block_ ? share_ - first : block_;
    const size_t tiles = threads * count;
    // Each thread multiplies what it has transformed and has its slots in all blocks, unless that
    // fills the kernel's rows badly.
    const bool apart =
        FillsThreads(DivideUp(count, gemm_.mr()), threads, DivideUp(tiles, gemm_.mr()));
    const size_t slots = apart ? block_ : count;  // per thread
    job.lines = apart ? threads : 1;
    job.line_rows = apart ? count : tiles;
    job.line_stride = slots * job.row_stride;
    rows.line_stride = slots * rows.stride;
    // Maps an index in the block to a tile and its slot. Indices past the last tile leave their
    // slots empty; nothing reads the results.
    const auto tile_of = [&](size_t i) { return i / count * share_ + first + i % count; };
    const auto slot_of = [&](size_t i) { return i / count * slots + i % count; };
    pool.For(tiles, cost * rows.k, [&](size_t begin, size_t end, int thread) {
      T* const cells = cell_buffers + thread * band;
      const T* a[kMaxSize * kMaxSize];
      size_t cached_begin = 0, cached_end = 0;  // range of tiles whose cells are in scratch memory
      for (size_t i = begin; i < end; ++i) {
        const size_t tile = tile_of(i);
        if (IsEmpty(tile)) continue;
        if (!uses_cells()) {
          if (is_dilated()) {
            PointAtTile<true>(input(0), window_, TileAt(tile), size_, zeros, a);
          } else {
            PointAtTile(input(0), window_, TileAt(tile), size_, zeros, a);
          }
        } else {
          if (tile >= cached_end) {
            cached_begin = tile;
            cached_end = tile + Min(end - i, tiles_.columns - tile % tiles_.columns);
            CopyCells(TileAt(tile), cached_end - cached_begin, zeros, cells);
          }
          PointAtCells(cells, cached_end - cached_begin, tile - cached_begin, a);
        }
        input_kernel_({a, transformed + slot_of(i) * rows.stride, channels_, channels_,
                       static_cast<uint16_t>(attributes().tile), static_cast<uint16_t>(size_)});
      }
    });
    gemm_.Run(job, none, scratch<void>(), pool);
    pool.For(tiles, cost * job.columns, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        if (const size_t tile = tile_of(i); !IsEmpty(tile))
          TransformOutput(TileAt(tile), products + slot_of(i) * job.row_stride);
      }
    });
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(ConvWinograd, float, F32)
TRIMTAB_TYPED_OPERATOR(ConvWinograd, Half, F16)
