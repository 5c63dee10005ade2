// 3x3 convolution as Winograd F(m x m, 3 x 3): a transform of input tiles, a matrix product for
// each of the (m + 2)^2 elements of a transformed tile, and a transform of the products.
//
// Tiles are taken in blocks. A transformed block is [tile][element][channel], so that its products
// are those of a grouped 1x1 convolution: elements are the groups, tiles the rows.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/parallel.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

constexpr int kMaxElements1d = 8;  // of F(6 x 6, 3 x 3)
constexpr int64_t kOnes[] = {1, 1};

// Floats of transformed tiles and products that a block may have: with the weights of an element
// beside them they stay in the second-level cache.
constexpr int64_t kBlockFloats = 96 * 1024;

// Between tiles, so that rows of a product that are powers of two apart do not share cache sets.
constexpr size_t kGap = 16;

// A place for `size` elements, aligned for every vector.
constexpr size_t RoundUp(size_t size) { return (size + 15) & ~size_t{15}; }

// The outputs of one tile: from (top, left) of an image on, `rows` x `columns` of them.
struct Tile {
  size_t image, top, left, rows, columns;
};

class ConvWinograd final : public OperatorOf<ConvWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Status BindTransforms();
  Tile TileAt(size_t index) const;
  void TransformInput(const Tile& tile, const float* zeros, float* transformed) const;
  void TransformOutput(const Tile& tile, const float* products) const;
  const float* OptionalData(int i) const { return has_input(i) ? input(i).data<float>() : nullptr; }

  size_t size() const { return static_cast<size_t>(attributes().tile) + 2; }
  size_t input_stride() const { return size() * size() * input(0).c() + kGap; }
  size_t product_stride() const { return size() * size() * output().c() + kGap; }

  Window window_;
  Epilogue epilogue_;
  GemmDriver gemm_;
  Kernel<WinogradInputF32Args> input_kernel_ = nullptr;
  Kernel<WinogradOutputF32Args> output_kernel_ = nullptr;
  size_t tile_columns_ = 0, image_tiles_ = 0, tiles_ = 0;
  size_t share_ = 0;  // tiles of a thread
  size_t block_ = 0;  // tiles of a thread's share in a block
};

Status ConvWinograd::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  const int64_t tile = attributes().tile;
  TRIMTAB_CHECK(tile == 2 || tile == 4 || tile == 6, "there is no Winograd tile of this size",
                tile);
  TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
  TRIMTAB_CHECK(w.dims.rank == 4 && w.dims[1] == x.c() && w.dims[2] == 3 && w.dims[3] == 3,
                "weights must be 3x3 and fit the input's channels", x.c());
  TRIMTAB_CHECK(x.c() >= kMinWinogradChannels && w.dims[0] >= kMinWinogradChannels,
                "there are too few channels (input, output)", x.c(), w.dims[0]);
  const IntList ones = {kOnes, 2};
  TRIMTAB_RETURN_IF_ERROR(ReadWindow(3, 3, ones, attributes().pads, ones, &window_));
  Dims y = x.dims;
  y[1] = w.dims[0];
  TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, x, false, &y[2], &y[3]));
  TRIMTAB_CHECK(!has_input(2) || input(2).Count() == y[1],
                "bias does not fit the output's channels", y[1]);
  TRIMTAB_CHECK(!has_input(3) || input(3).dims == y, "residual does not have the output's shape");
  output().dims = y;
  return Status();
}

Status ConvWinograd::BindTransforms() {
  const KernelRef &in = attributes().input_kernel, &out = attributes().output_kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind(in, FamilyHash("winograd_input_f32"), &input_kernel_));
  TRIMTAB_RETURN_IF_ERROR(Bind(out, FamilyHash("winograd_output_f32"), &output_kernel_));
  // A kernel without a tile in its name is the portable one, which does any.
  const auto fits = [&](const KernelRef& ref) {
    return ref.nr == 0 || ref.nr == attributes().tile;
  };
  TRIMTAB_CHECK(fits(in) && fits(out), "the plan's transforms are for tiles of another size");
  return Status();
}

Status ConvWinograd::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
  TRIMTAB_RETURN_IF_ERROR(BindTransforms());
  const Tensor &x = input(0), &y = output();
  const int64_t c_in = x.c(), c_out = y.c(), tile = attributes().tile;
  const int64_t elements = (tile + 2) * (tile + 2);
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(attributes().kernel, input(1), nullptr, elements, c_out, c_in,
                                     1, c_in, threads()));
  TRIMTAB_CHECK(!has_input(2) || input(2).bytes / sizeof(float) >= static_cast<size_t>(c_out),
                "bias is too short", c_out);
  const int64_t columns = (y.w() + tile - 1) / tile, rows = (y.h() + tile - 1) / tile;
  const int64_t tiles = columns * rows * y.n();
  // A larger block reads the weights more rarely, a smaller one keeps its data in cache. Once the
  // weights are more than a block's tiles and products together they are what counts.
  const int64_t per_tile = elements * (c_in + c_out) + 2 * static_cast<int64_t>(kGap);
  const int64_t share = (tiles + threads() - 1) / threads();
  int64_t block = kBlockFloats / per_tile;
  const int64_t balance = c_in * c_out / (2 * (c_in + c_out) * threads());
  if (block < balance) block = balance;
  const int64_t mr = static_cast<int64_t>(gemm_.mr());
  block = (block + mr - 1) / mr * mr;
  if (block > share) block = share;
  // Blocks of one size: the last one is not left with a few tiles.
  const int64_t blocks = block > 0 ? (share + block - 1) / block : 1;
  block = ((share + blocks - 1) / blocks + mr - 1) / mr * mr;
  if (block > share) block = share;
  const int64_t bytes = threads() * block * per_tile * static_cast<int64_t>(sizeof(float));
  TRIMTAB_CHECK(bytes <= INT32_MAX / 2, "scratch memory is too large", bytes);
  tile_columns_ = static_cast<size_t>(columns);
  image_tiles_ = static_cast<size_t>(columns * rows);
  tiles_ = static_cast<size_t>(tiles);
  share_ = static_cast<size_t>(share);
  block_ = static_cast<size_t>(block);
  RequestScratch(RoundUp(gemm_.scratch_bytes()) + static_cast<size_t>(bytes));
  return Status();
}

Tile ConvWinograd::TileAt(size_t index) const {
  const size_t tile = static_cast<size_t>(attributes().tile);
  const size_t place = index % image_tiles_;
  const size_t top = place / tile_columns_ * tile, left = place % tile_columns_ * tile;
  const size_t below = static_cast<size_t>(output().h()) - top;
  const size_t right = static_cast<size_t>(output().w()) - left;
  return {index / image_tiles_, top, left, below < tile ? below : tile,
          right < tile ? right : tile};
}

void ConvWinograd::TransformInput(const Tile& tile, const float* zeros, float* transformed) const {
  const Tensor& x = input(0);
  const int32_t n = static_cast<int32_t>(size());
  const int32_t top = static_cast<int32_t>(tile.top) - window_.pad_top;
  const int32_t left = static_cast<int32_t>(tile.left) - window_.pad_left;
  const size_t pixel_stride = x.pixel_stride(), w = static_cast<size_t>(x.w());
  const float* const image = x.data<float>() + tile.image * x.h() * w * pixel_stride;
  // The columns of the tile that lie inside of the image.
  const int32_t begin = left < 0 ? -left : 0, end = left + n > x.w() ? x.w() - left : n;
  const float* a[kMaxElements1d * kMaxElements1d];
  const float** next = a;
  for (int32_t i = top; i < top + n; ++i) {
    int32_t j = 0;
    if (i >= 0 && i < x.h() && begin < end) {
      for (; j < begin; ++j) *next++ = zeros;
      const size_t place = static_cast<size_t>(i) * w + static_cast<size_t>(left + begin);
      const float* pixel = image + place * pixel_stride;
      for (; j < end; ++j, pixel += pixel_stride) *next++ = pixel;
    }
    for (; j < n; ++j) *next++ = zeros;
  }
  const size_t channels = static_cast<size_t>(x.c());
  input_kernel_({a, transformed, channels, channels, static_cast<uint16_t>(attributes().tile)});
}

void ConvWinograd::TransformOutput(const Tile& tile, const float* products) const {
  Tensor& y = output();
  const float* const residual = OptionalData(3);
  const size_t channels = static_cast<size_t>(y.c());
  const size_t pixel = (tile.image * y.h() + tile.top) * static_cast<size_t>(y.w()) + tile.left;
  WinogradOutputF32Args args;
  args.x = products;
  args.bias = OptionalData(2);
  args.residual = nullptr;
  if (residual != nullptr) {
    args.residual_pixel_stride = input(3).pixel_stride();
    args.residual_row_stride = static_cast<size_t>(y.w()) * args.residual_pixel_stride;
    args.residual = residual + pixel * args.residual_pixel_stride;
  }
  args.pixel_stride = y.pixel_stride();
  args.row_stride = static_cast<size_t>(y.w()) * args.pixel_stride;
  args.y = y.data<float>() + pixel * args.pixel_stride;
  args.channels = args.x_stride = channels;
  args.rows = tile.rows;
  args.columns = tile.columns;
  args.clamp_min = epilogue_.clamp_min;
  args.clamp_max = epilogue_.clamp_max;
  args.tile = static_cast<uint16_t>(attributes().tile);
  output_kernel_(args);
  for (size_t i = 0; i < tile.rows; ++i)
    epilogue_.Activate(args.y + i * args.row_stride, tile.columns, channels, args.pixel_stride);
}

// A block holds as many tiles of each thread's share of the image, so that a thread finds the
// pixels, and leaves them, where the operators before and after it have theirs.
void ConvWinograd::Run(ThreadPool& pool) {
  const size_t threads = static_cast<size_t>(pool.threads());
  float* const transformed = scratch<float>(RoundUp(gemm_.scratch_bytes()));
  float* const products = transformed + threads * block_ * input_stride();
  const float* const zeros = gemm_.Zeros(scratch<void>());
  const size_t elements = size() * size();
  const EvenRows rows{transformed, input_stride(), static_cast<size_t>(input(0).c())};
  const Epilogue none{-__builtin_inff(), __builtin_inff(), 0.0f, 0.0f};
  GemmJob job;
  job.point = PointAtEvenRows;
  job.context = &rows;
  job.w = input(1).data<float>();
  job.bias = job.residual = nullptr;
  job.c = products;
  job.groups = elements;
  job.lines = 1;
  job.columns = static_cast<size_t>(output().c());
  job.depth = rows.k;
  job.row_stride = product_stride();
  job.line_stride = 0;
  // A transform takes about as many operations per element as an output needs multiply-adds of
  // sixteen channels.
  const size_t cost = 16 * elements;
  for (size_t first = 0; first < share_; first += block_) {
    const size_t count = share_ - first < block_ ? share_ - first : block_;
    const size_t slots = threads * count;
    // The tile in a slot of the block; those past the last have none, and products nobody reads.
    const auto tile_of = [&](size_t slot) { return slot / count * share_ + first + slot % count; };
    pool.For(slots, Grain(slots, cost * rows.k, pool.threads()),
             [&](size_t begin, size_t end, int) {
               for (size_t slot = begin; slot < end; ++slot) {
                 if (const size_t tile = tile_of(slot); tile < tiles_)
                   TransformInput(TileAt(tile), zeros, transformed + slot * rows.stride);
               }
             });
    job.line_rows = slots;
    gemm_.Run(job, none, scratch<void>(), pool);
    pool.For(slots, Grain(slots, cost * job.columns, pool.threads()),
             [&](size_t begin, size_t end, int) {
               for (size_t slot = begin; slot < end; ++slot) {
                 if (const size_t tile = tile_of(slot); tile < tiles_)
                   TransformOutput(TileAt(tile), products + slot * job.row_stride);
               }
             });
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ConvWinograd)
