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
  const int8_t* end;   // of the images
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

// Kernel rows beside padding, or where the image ends: copies, filled up.
class CopiedRows {
 public:
  // `line`: bytes of a row; `buffer`: of one row more than are copied.
  CopiedRows(const GemmSource& source, size_t line, void* buffer)
      : source_(source), line_(line), to_(static_cast<int8_t*>(buffer)), outside_(to_) {
    Fill(line);
  }
  const int8_t* outside() const { return outside_; }

  // The row that begins at column `first` of a line of the image.
  const int8_t* Copy(const int8_t* pixels, int32_t first) {
    const WindowSource<int8_t>& from = source_.window;
    const int32_t begin = first < 0 ? -first : 0, room = from.w - first;
    const int32_t end = room < from.window.kernel_w ? room : from.window.kernel_w;
    if (begin >= end) return outside_;
    const int8_t* const row = to_;
    Fill(static_cast<size_t>(begin) * source_.k);
    const int8_t* x = pixels + static_cast<size_t>(first + begin) * from.pixel_stride;
    for (int32_t i = begin; i < end; ++i, x += from.pixel_stride) {
      for (size_t p = 0; p < source_.k; ++p) *to_++ = x[p];
    }
    Fill(static_cast<size_t>(row + line_ - to_));
    return row;
  }

 private:
  void Fill(size_t count) {
    for (const int8_t padding = *source_.window.padding; count > 0; --count) *to_++ = padding;
  }

  const GemmSource& source_;
  size_t line_;
  int8_t* to_;
  const int8_t* outside_;
};

// The same where each kernel row is filled up, for one group. A row is read where it lies, with what
// follows it in the image, for weights of 0.
void PointAtKernelRows(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  const WindowSource<int8_t> from = source.window;
  const Window& window = from.window;
  const size_t mr = tiles->mr, taps = static_cast<size_t>(window.kernel_h);
  const size_t line = source.depth / taps, stride = static_cast<size_t>(window.stride_w);
  const size_t out_w = static_cast<size_t>(from.out_w), step = stride * from.pixel_stride;
  CopiedRows copies(source, line, tiles->buffer);
  size_t out_x = tiles->row % out_w, row = tiles->row / out_w;
  const int8_t** a = tiles->a;
  for (size_t left = tiles->rows; left > 0; a += taps * mr) {
    const size_t used = Least(left, mr);
    left -= used;
    // Neighbours in a line of the output, of which those from `lo` to `hi` are inside of the image.
    for (size_t i = 0, count; i < used; i += count) {
      count = Least(used - i, out_w - out_x);
      const size_t image = row / from.out_h;
      const int32_t top =
          static_cast<int32_t>(row - image * from.out_h) * window.stride_h - window.pad_top;
      const int32_t first = static_cast<int32_t>(out_x) * window.stride_w - window.pad_left;
      const int32_t room = from.w - window.kernel_w - first;
      const size_t lo = first < 0 ? Least(DivideUp(static_cast<size_t>(-first), stride), count) : 0;
      size_t hi = room < 0 ? lo : Least(static_cast<size_t>(room) / stride + 1, count);
      if (hi < lo || from.pixel_stride != source.k) hi = lo;
      for (size_t t = 0; t < taps; ++t) {
        const int32_t y = top + static_cast<int32_t>(t) * window.dilation_h;
        const int8_t** const tap = a + t * mr + i;
        if (y < 0 || y >= from.h) {
          for (size_t p = 0; p < count; ++p) tap[p] = copies.outside();
          continue;
        }
        const int8_t* const pixels = from.x + (image * from.h + y) * from.w * from.pixel_stride;
        const auto copy = [&](size_t p) {
          tap[p] = copies.Copy(pixels, first + static_cast<int32_t>(p * stride));
        };
        for (size_t p = 0; p < lo; ++p) copy(p);
        size_t p = lo;
        if (lo < hi) {
          // The column of the first one, which lies inside, is a sum that wraps on its way there.
          const int8_t* x = pixels + (static_cast<size_t>(first) + lo * stride) * from.pixel_stride;
          for (; p < hi && line <= static_cast<size_t>(source.end - x); ++p, x += step) tap[p] = x;
        }
        for (; p < count; ++p) copy(p);
      }
      out_x += count;
      if (out_x == out_w) {
        out_x = 0;
        ++row;
      }
    }
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = used; i < mr; ++i) a[t * mr + i] = a[t * mr];
    }
  }
  tiles->taps = taps;
  tiles->k = line;
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
  const bool fills_rows = attributes().fill_rows;
  TRIMTAB_CHECK(!fills_rows || (group == 1 && window_.dilation_w == 1),
                "only neighbours of one group make rows to fill up (groups, distance)", group,
                window_.dilation_w);
  const int64_t lines = fills_rows ? window_.kernel_h : 1;
  depth_ = lines * RoundUp(window_.taps() / lines * k, kr);
  int64_t taps = window_.taps(), buffer_bytes = 0;
  const int64_t rows = mr * attributes().call_tiles;
  if (fills_rows) {
    buffer_bytes = (rows * lines + 1) * (depth_ / lines);
    taps = lines;
  } else if (gathers_) {
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
                          static_cast<size_t>(rows_offset_),
                          x.data<int8_t>() + (x.Count() / x.c() - 1) * x.pixel_stride() + x.c()};
  const EvenRows<int8_t> pixels{source.window.x, source.window.pixel_stride, source.k, source.k};
  GemmJob<int8_t> job;
  const bool fills_rows = attributes().fill_rows;
  job.point = fills_rows ? PointAtKernelRows : gathers_ ? GatherPixels : PointAtPixels;
  job.context = &source;
  if (window_.pointwise() && !gathers_ && !fills_rows) {
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
