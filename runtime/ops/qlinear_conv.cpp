// 2-D convolution of quantised numbers as indirect GEMM.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/requantise.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

struct GemmSource {
  WindowSource<int8_t> window;
  size_t k;            // channels per group
  size_t depth;        // of gathered rows
  size_t rows_offset;  // of these in a buffer, behind pointers to taps
};

void PointAtPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

// kWord + `last` bytes in words, of which the last overlaps the one before: but for the longest words
// at most two.
template <size_t kWord>
inline void CopyWords(int8_t* to, const int8_t* from, size_t last) {
  if (kWord == 16) {
    for (size_t i = 0; i < last; i += kWord) __builtin_memcpy(to + i, from + i, kWord);
  } else {
    __builtin_memcpy(to, from, kWord);
  }
  __builtin_memcpy(to + last, from + last, kWord);
}

constexpr size_t kFilled = 16;  // bytes of zeros behind the taps of a row, all or some of them used

// Taps of a few bytes, a kernel row of an image with few channels, or, beside padding, a tap: side
// by side for each of the rows, which are filled up behind the last tap only.
struct Gather {
  const int8_t* const* from;
  size_t taps, elements, mr, filled;

  template <size_t kWord>
  static void Run(const Gather gather, int8_t* to, size_t tiles, const int8_t** a) {
    // What stores of bytes cannot change.
    const size_t taps = gather.taps, elements = gather.elements, mr = gather.mr;
    const size_t last = elements - kWord, filled = gather.filled;
    const int8_t* const* tile = gather.from;
    for (; tiles > 0; --tiles, tile += taps * mr) {
      for (size_t i = 0; i < mr; ++i) {
        *a++ = to;
        const int8_t* const* tap = tile + i;
        size_t t = taps;
        do {
          CopyWords<kWord>(to, *tap, last);
          tap += mr;
          to += elements;
        } while (--t > 0);
        __builtin_memset(to, 0, kFilled);
        to += filled;
      }
    }
  }
};

// Kernels multiply several elements of the depth at once. Where channels are no multiple of these,
// the taps of every pixel are copied side by side, and filled up behind the last one only.
void GatherPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  const size_t mr = tiles->mr;
  auto** from = static_cast<const int8_t**>(tiles->buffer);
  size_t count = 0, elements = 0;
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, mr, tiles->group * source.k,
                             source.k, from, &count, &elements);
  auto* const to = static_cast<int8_t*>(tiles->buffer) + source.rows_offset;
  const Gather gather{from, count, elements, mr, source.depth - count * elements};
  const auto run = elements >= 16  ? Gather::Run<16>
                   : elements >= 8 ? Gather::Run<8>
                   : elements >= 4 ? Gather::Run<4>
                   : elements >= 2 ? Gather::Run<2>
                                   : Gather::Run<1>;
  run(gather, to, DivideUp(tiles->rows, mr), tiles->a);
  tiles->taps = 1;
  tiles->k = source.depth;
}

class QlinearConv final : public OperatorOf<QlinearConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  Window window_;
  Epilogue<int8_t> epilogue_;
  GemmDriver<int8_t> gemm_;
  bool gathers_ = false;
  int64_t depth_ = 0;        // as weights are packed
  int64_t rows_offset_ = 0;  // GemmSource has it
  int32_t padding_ = 0;      // what it holds
};

Status QlinearConv::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, &input(2), nullptr}, attributes().strides,
                                          attributes().pads, attributes().dilations, &window_,
                                          &output().dims));
  TRIMTAB_RETURN_IF_ERROR(CheckQuantisedOperands(x, w, input(2), input(3)));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, found)", x.c() / group,
                w.dims[1]);
  return Status();
}

Status QlinearConv::Prepare() {
  const int64_t k = input(1).dims[1], group = attributes().group, columns = output().c() / group;
  const int64_t kr = attributes().depth_step, mr = attributes().kernel.mr;
  TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &padding_));
  TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &epilogue_));
  epilogue_.scale = input(3).data<float>();
  epilogue_.kr = static_cast<uint16_t>(kr);
  gathers_ = k % kr != 0;
  depth_ = RoundUp(window_.taps() * k, kr);
  int64_t taps = window_.taps(), buffer_bytes = 0;
  if (gathers_) {
    const int64_t rows = mr * attributes().call_tiles;
    rows_offset_ = rows * taps * static_cast<int64_t>(sizeof(void*));
    buffer_bytes = rows_offset_ + rows * depth_ + static_cast<int64_t>(kFilled);
    taps = 1;
  }
  const ProductPlan plan(attributes());
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(plan, input(1), &input(2), group, columns, depth_, taps,
                                     window_.pointwise() ? 0 : k, threads(), buffer_bytes));
  const int64_t padded =
      group * static_cast<int64_t>(gemm_.panels(static_cast<size_t>(columns)) * gemm_.nr());
  TRIMTAB_CHECK(static_cast<int64_t>(input(3).bytes / sizeof(float)) >= padded,
                "packed scales are too short", padded);
  return RequestScratch(gemm_.scratch_bytes());
}

void QlinearConv::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  const GemmSource source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<int8_t>(),
                           gemm_.Zeros(scratch<void>(), padding_)},
                          static_cast<size_t>(input(1).dims[1]),
                          static_cast<size_t>(depth_),
                          static_cast<size_t>(rows_offset_)};
  const EvenRows<int8_t> pixels{source.window.x, source.window.pixel_stride, source.k, source.k};
  GemmJob<int8_t> job;
  job.point = gathers_ ? GatherPixels : PointAtPixels;
  job.context = &source;
  if (window_.pointwise() && !gathers_) {
    job.point = PointAtEvenRows<int8_t>;
    job.context = &pixels;
  }
  job.w = input(1).data<int8_t>();
  job.bias = input(2).data<int32_t>();
  job.residual = nullptr;
  job.c = y.data<int8_t>();
  job.groups = static_cast<size_t>(attributes().group);
  job.lines = 1;  // pixels of all rows and images lie evenly
  job.line_rows = static_cast<size_t>(y.n()) * y.h() * y.w();
  job.columns = static_cast<size_t>(y.c()) / job.groups;
  job.depth = source.depth;
  job.row_stride = y.pixel_stride();
  job.line_stride = 0;
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearConv)
