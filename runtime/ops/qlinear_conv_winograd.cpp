// Convolution of int8 values as Winograd F(4 x 4, 3 x 3) in integer arithmetic: 16-bit products and
// sums modulo 2^32, which are exact (see WinogradOutputArgs<int8_t>).
//
// A thread computes all three steps of a block of tiles: for all output channels, or for a share of
// them if there are few tiles and many weights. Transformed tiles and products are
// [element][tile][channel]; elements begin in different cache sets.
#include "generated/attributes/qlinear_conv_winograd.h"

#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"
#include "runtime/ops/winograd_tiles.h"

namespace trimtab {
namespace {

constexpr size_t kTile = 4, kSize = 6, kElements = kSize * kSize;
constexpr int64_t kOnes[] = {1, 1};
constexpr size_t kLine = 64;  // bytes of a cache line

// Bytes between neighboring elements: an odd number of cache lines, so that the 36 addresses of a
// transform are not in one cache set.
uint64_t ElementBytes(uint64_t bytes) { return Aligned(bytes) | kLine; }

class QlinearConvWinograd final : public OperatorOf<QlinearConvWinogradAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Status BindKernels();
  // First column of a share; for shares_, the end.
  size_t FirstColumn(size_t share) const {
    const size_t nr = attributes().kernel.nr;
    return share * (columns_ / nr) / shares_ * nr;
  }
  // Transforms `channels` output channels from `first` on.
  void TransformOutput(const Tile& tile, const int32_t* products, size_t first,
                       size_t channels) const;

  Window window_;
  Epilogue<int8_t> epilogue_;
  Kernel<WinogradInputArgs<int8_t>> input_kernel_ = nullptr;
  Kernel<WinogradProductArgs<int8_t>> product_kernel_ = nullptr;
  Kernel<WinogradOutputArgs<int8_t>> output_kernel_ = nullptr;
  ImageTiles tiles_;
  int32_t padding_ = 0;
  size_t depth_ = 0, columns_ = 0;  // padded, as weights are packed
  size_t block_ = 0;                // tiles per block
  size_t shares_ = 1;               // shares of the columns
  size_t input_bytes_ = 0, product_bytes_ = 0,
         padding_bytes_ = 0;  // per element; padding: per pixel
};

Status QlinearConvWinograd::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, &input(2), nullptr}, attributes().strides,
                                          attributes().pads, {kOnes, 2}, &window_, &output().dims));
  TRIMTAB_RETURN_IF_ERROR(CheckQuantizedOperands(x, w, input(2), input(3)));
  TRIMTAB_CHECK(w.dims[1] == x.c() && window_.kernel_h == 3 && window_.kernel_w == 3,
                "weights must be 3 x 3 and fit the input's channels", x.c());
  TRIMTAB_CHECK(window_.stride_h == 1 && window_.stride_w == 1, "strides must be 1",
                window_.stride_h, window_.stride_w);
  TRIMTAB_CHECK(x.c() >= kMinWinogradChannels && w.dims[0] >= kMinWinogradChannels,
                "there are too few channels (input, output)", x.c(), w.dims[0]);
  return Status();
}

Status QlinearConvWinograd::BindKernels() {
  const KernelRef &in = attributes().input_kernel, &out = attributes().output_kernel;
  const KernelRef& product = attributes().kernel;
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_input")>(in, &input_kernel_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_output")>(out, &output_kernel_));
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("winograd_product")>(product, &product_kernel_));
  TRIMTAB_CHECK(product.mr > 0 && product.nr > 0, "the plan's GEMM kernel has no tile");
  return Status();
}

Status QlinearConvWinograd::Prepare() {
  TRIMTAB_RETURN_IF_ERROR(BindKernels());
  TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &padding_));
  TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &epilogue_));
  const uint64_t nr = attributes().kernel.nr, mr = attributes().kernel.mr;
  const auto channels = static_cast<uint64_t>(input(0).c());
  const uint64_t depth = RoundUp(channels, static_cast<uint64_t>(attributes().depth_step));
  const uint64_t columns = RoundUp(static_cast<uint64_t>(output().c()), nr);
  const uint64_t weights = kElements * depth * columns * sizeof(int16_t);
  TRIMTAB_CHECK(input(1).bytes >= weights, "packed weights are too short",
                static_cast<int64_t>(weights), static_cast<int64_t>(input(1).bytes));
  TRIMTAB_CHECK(input(2).bytes >= columns * sizeof(int32_t), "packed bias is too short",
                static_cast<int64_t>(columns));
  TRIMTAB_RETURN_IF_ERROR(BindFactors(input(3), optional_input(4), columns, &epilogue_));
  tiles_ = ImageTiles(output(), kTile);
  depth_ = static_cast<size_t>(depth);
  columns_ = static_cast<size_t>(columns);
  const auto thread_count = static_cast<size_t>(threads());
  size_t rows = DivideUp(tiles_.count, thread_count);
  // A share has at least two panels, because a transform takes at least kMinWinogradChannels.
  const size_t max_shares = columns_ / (2 * static_cast<size_t>(nr));
  shares_ = 1;
  if (rows < mr && max_shares > 1 &&
      ReadingTakesLonger(kElements * depth_ * columns_,
                         kTile * kTile * tiles_.count * (depth_ + columns_))) {
    shares_ = Min(thread_count, max_shares);
    rows = tiles_.count;
  }
  block_ = EvenBlocks(rows, static_cast<size_t>(attributes().block), static_cast<size_t>(mr));
  const uint64_t input_bytes = ElementBytes(block_ * depth * sizeof(int16_t));
  const uint64_t product_bytes = ElementBytes(block_ * columns * sizeof(int32_t));
  const uint64_t padding_bytes = Aligned(channels);
  input_bytes_ = static_cast<size_t>(input_bytes);
  product_bytes_ = static_cast<size_t>(product_bytes);
  padding_bytes_ = static_cast<size_t>(padding_bytes);
  return RequestScratch(padding_bytes + static_cast<uint64_t>(threads()) * kElements *
                                            (input_bytes + product_bytes));
}

void QlinearConvWinograd::TransformOutput(const Tile& tile, const int32_t* products, size_t first,
                                          size_t channels) const {
  Tensor& y = output();
  const size_t pixel = (tile.image * tiles_.h + tile.top) * tiles_.w + tile.left;
  WinogradOutputArgs<int8_t> args;
  args.x = products;
  args.bias = input(2).data<int32_t>() + first;
  args.scale = epilogue_.scale + first;
  args.slope = epilogue_.slope == nullptr ? nullptr : epilogue_.slope + first;
  args.pixel_stride = y.pixel_stride();
  args.row_stride = tiles_.w * args.pixel_stride;
  args.y = y.data<int8_t>() + pixel * args.pixel_stride + first;
  args.channels = channels;
  args.x_stride = product_bytes_ / sizeof(int32_t);
  args.rows = tile.rows;
  args.columns = tile.columns;
  args.zero_point = epilogue_.zero_point;
  args.low = epilogue_.low;
  args.high = epilogue_.high;
  output_kernel_(args);
}

void QlinearConvWinograd::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  const size_t channels = static_cast<size_t>(x.c());
  int8_t* const padding = scratch<int8_t>();
  __builtin_memset(padding, padding_, channels);
  const size_t thread_bytes = kElements * (input_bytes_ + product_bytes_);
  const size_t cost = block_ * kElements * depth_ * columns_ / shares_;
  const size_t blocks = DivideUp(tiles_.count, block_);
  const auto out_channels = static_cast<size_t>(output().c());
  pool.For(shares_ * blocks, cost, [&](size_t begin, size_t end, int thread) {
    const size_t own = padding_bytes_ + static_cast<size_t>(thread) * thread_bytes;
    auto* const transformed = scratch<int16_t>(own);
    auto* const products = scratch<int32_t>(own + kElements * input_bytes_);
    const size_t input_stride = input_bytes_ / sizeof(int16_t);
    const size_t product_stride = product_bytes_ / sizeof(int32_t);
    for (size_t item = begin; item < end; ++item) {
      const size_t share = item / blocks, column = FirstColumn(share);
      const size_t columns = FirstColumn(share + 1) - column;
      const size_t first = item % blocks * block_, count = Min(tiles_.count - first, block_);
      for (size_t i = 0; i < count; ++i) {
        const int8_t* a[kElements];
        PointAtTile(x, window_, tiles_.At(first + i), kSize, padding, a);
        input_kernel_({a, transformed + i * depth_, channels, input_stride});
      }
      const auto* w = reinterpret_cast<const int16_t*>(data<int8_t>(1)) + column * depth_;
      for (size_t e = 0; e < kElements; ++e, w += depth_ * columns_) {
        product_kernel_({transformed + e * input_stride, w, products + e * product_stride, depth_,
                         count, columns, depth_, columns, attributes().kernel.nr,
                         static_cast<uint16_t>(attributes().depth_step)});
      }
      for (size_t i = 0; i < count; ++i)
        TransformOutput(tiles_.At(first + i), products + i * columns, column,
                        Min(columns, out_channels - column));
    }
  });
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearConvWinograd)
