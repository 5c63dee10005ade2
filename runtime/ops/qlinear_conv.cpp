// 2-D convolution of quantized numbers as indirect GEMM.
#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/gemm_driver.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace trimtab {
namespace {

struct GemmSource {
  WindowSource<int8_t> window;
  size_t k;             // of a tap: channels per group, or those of all folded pixels
  size_t depth;         // of rows that are gathered, or read with what follows them
  size_t fold;          // pixels of a row
  size_t places_bytes;  // of the places of taps in a buffer, in front of gathered rows
  size_t first, count;  // pixels that there are, from the first row on
  const int8_t* end;    // of the images
};

void PointAtPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  tiles->rows = PointAtTiles(source.window, tiles->row, tiles->rows, tiles->mr,
                             tiles->group * source.k, source.k, tiles->a, &tiles->taps, &tiles->k);
}

// Kernels multiply several elements of the depth at once. Where channels are no multiple of these,
// weights are filled up with zeros, and whatever they meet does no harm: under a window of one pixel
// what follows it in the image, but at the end of that, where copies are read.
void PointAtPixelsAndOn(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  const size_t stride = source.fold * source.window.pixel_stride;
  const EvenRows<int8_t> pixels{source.window.x + source.first * source.window.pixel_stride, stride,
                                source.depth, source.k};
  PointAtEvenRows<int8_t>(&pixels, tiles);
  const int8_t* const* const last = tiles->a + tiles->rows - 1;
  const auto runs_over = [&](const int8_t* row) {
    return static_cast<size_t>(source.end - row) < source.depth;
  };
  if (!runs_over(*last)) return;
  auto* copy = static_cast<int8_t*>(tiles->buffer);
  const int8_t** const end = tiles->a + DivideUp(tiles->rows, tiles->mr) * tiles->mr;
  for (const int8_t** a = tiles->a; a < end; ++a) {
    if (!runs_over(*a)) continue;
    __builtin_memcpy(copy, *a, Least(source.k, static_cast<size_t>(source.end - *a)));
    *a = copy;
    copy += source.depth;
  }
}

constexpr size_t kWord = 16;

// Under larger windows the taps of a pixel are copied side by side, all of a kernel row at once where
// these are neighbors. Copies of whole words end too late: the next one begins where they should
// have ended, and what is behind the last one meets weights of 0.
class Gather {
 public:
  Gather(const GemmSource& source, size_t channel, void* buffer)
      : from_(source.window),
        depth_(source.depth / source.fold),
        end_(source.end),
        images_(from_.x + channel),
        places_(static_cast<size_t*>(buffer)),
        to_(static_cast<int8_t*>(buffer) + source.places_bytes) {
    const Window& window = from_.window;
    const bool neighbors = from_.pixel_stride == source.k && window.dilation_w == 1;
    taps_ = neighbors ? window.kernel_w : 1;
    tap_bytes_ = source.k;
    const size_t line = window.dilation_h * from_.w * from_.pixel_stride;
    for (int32_t i = 0; i < window.kernel_h; ++i) {
      for (int32_t j = 0; j < window.kernel_w; j += taps_)
        places_[pieces_++] = i * line + j * window.dilation_w * from_.pixel_stride;
    }
  }

  // Of `count` neighbors from column `x` on in a line of the output, counted over all images.
  void Line(size_t line, size_t x, size_t count) {
    const Window& window = from_.window;
    const size_t image = line / from_.out_h;
    const int32_t top =
        static_cast<int32_t>(line - image * from_.out_h) * window.stride_h - window.pad_top;
    int32_t left = static_cast<int32_t>(x) * window.stride_w - window.pad_left;
    const int8_t* const pixels = images_ + image * from_.h * from_.w * from_.pixel_stride;
    while (count > 0) {
      // Unsigned, so that it wraps where the first tap lies outside.
      const size_t place =
          (static_cast<size_t>(top) * from_.w + static_cast<size_t>(left)) * from_.pixel_stride;
      size_t done = Whole(pixels, place, top, left, count);
      if (done > 0) {
        CopyWhole(pixels + place, done);
      } else {
        CopyPart(pixels, top, left);
        done = 1;
      }
      count -= done;
      left += static_cast<int32_t>(done) * window.stride_w;
    }
  }

 private:
  // How many of `count` neighbors from a place on have all taps inside, and words that end there.
  size_t Whole(const int8_t* pixels, size_t place, int32_t top, int32_t left, size_t count) const {
    const Window& window = from_.window;
    const int32_t room = from_.w - left - window.extent_w();
    if (top < 0 || top + window.extent_h() > from_.h || left < 0 || room < 0) return 0;
    const size_t last = place + places_[pieces_ - 1] + RoundUp(taps_ * tap_bytes_, kWord);
    const auto readable = static_cast<size_t>(end_ - pixels);
    if (readable < last) return 0;
    const size_t inside = Least(static_cast<size_t>(room / window.stride_w) + 1, count);
    return Least(inside, (readable - last) / (window.stride_w * from_.pixel_stride) + 1);
  }

  // Of pixels that have all taps inside; `kWords`: of a piece, 0 for any number.
  template <size_t kWords>
  void Copy(const int8_t* x, size_t count) {
    // What stores of bytes cannot change.
    const size_t bytes = taps_ * tap_bytes_, pieces = pieces_, filled = depth_ - pieces * bytes;
    const size_t words = kWords > 0 ? kWords : DivideUp(bytes, kWord);
    const size_t step = from_.window.stride_w * from_.pixel_stride;
    const size_t* const places = places_;
    int8_t* to = to_;
    for (; count > 0; --count, x += step, to += filled) {
      for (size_t piece = 0; piece < pieces; ++piece, to += bytes) {
        const int8_t* const from = x + places[piece];
        for (size_t i = 0; i < words * kWord; i += kWord) __builtin_memcpy(to + i, from + i, kWord);
      }
    }
    to_ = to;
  }
  // The same for the most frequent window, of three pieces of a word.
  void CopyThree(const int8_t* x, size_t count) {
    const size_t bytes = taps_ * tap_bytes_, depth = depth_;
    const size_t step = from_.window.stride_w * from_.pixel_stride;
    const int8_t *a = x + places_[0], *b = x + places_[1], *c = x + places_[2];
    int8_t* to = to_;
    for (; count > 0; --count, a += step, b += step, c += step, to += depth) {
      __builtin_memcpy(to, a, kWord);
      __builtin_memcpy(to + bytes, b, kWord);
      __builtin_memcpy(to + 2 * bytes, c, kWord);
    }
    to_ = to;
  }

  void CopyWhole(const int8_t* x, size_t count) {
    const size_t bytes = taps_ * tap_bytes_;
    if (bytes > 2 * kWord) return Copy<0>(x, count);
    if (bytes > kWord) return Copy<2>(x, count);
    pieces_ == 3 ? CopyThree(x, count) : Copy<1>(x, count);
  }

  // Of a pixel beside padding, or at the end of the images.
  void CopyPart(const int8_t* pixels, int32_t top, int32_t left) {
    const Window& window = from_.window;
    const TapRange inside = TapsInside(window.kernel_w, left, window.dilation_w, from_.w);
    int8_t* const row = to_;
    for (int32_t i = 0; i < window.kernel_h; ++i) {
      const int32_t y = top + i * window.dilation_h;
      const bool is_line = y >= 0 && y < from_.h;
      int32_t j = is_line ? inside.begin : window.kernel_w;
      Pad(j);
      for (int32_t taps; j < inside.end; j += taps) {
        taps = taps_ > 1 ? inside.end - j : 1;
        const size_t x = static_cast<size_t>(left + j * window.dilation_w);
        Append(pixels + (static_cast<size_t>(y) * from_.w + x) * from_.pixel_stride,
               taps * tap_bytes_);
      }
      Pad(window.kernel_w - j);
    }
    to_ = row + depth_;
  }
  void Pad(int32_t taps) {
    const size_t bytes = taps * tap_bytes_;
    for (size_t i = 0; i < bytes; i += kWord) __builtin_memset(to_ + i, *from_.padding, kWord);
    to_ += bytes;
  }
  void Append(const int8_t* from, size_t bytes) {
    if (static_cast<size_t>(end_ - from) >= RoundUp(bytes, kWord)) {
      for (size_t i = 0; i < bytes; i += kWord) __builtin_memcpy(to_ + i, from + i, kWord);
    } else {
      for (size_t i = 0; i < bytes; ++i) to_[i] = from[i];
    }
    to_ += bytes;
  }

  const WindowSource<int8_t> from_;
  const size_t depth_;  // of a pixel
  const int8_t* const end_;
  const int8_t* const images_;  // from the channel of the group on
  size_t* const places_;        // of the pieces of a window, from its first tap on
  int8_t* to_;
  int32_t taps_;  // in a piece
  size_t tap_bytes_;
  size_t pieces_ = 0;
};

void GatherPixels(const void* context, GemmTiles<int8_t>* tiles) {
  const auto& source = *static_cast<const GemmSource*>(context);
  const auto out_w = static_cast<size_t>(source.window.out_w);
  Gather gather(source, tiles->group * source.k, tiles->buffer);
  const size_t pixel = source.first + tiles->row * source.fold;
  size_t line = pixel / out_w, x = pixel - line * out_w;
  size_t left = Least(tiles->rows * source.fold, source.first + source.count - pixel);
  for (size_t count; left > 0; left -= count, ++line, x = 0) {
    count = Least(left, out_w - x);
    gather.Line(line, x, count);
  }
  const auto* row = static_cast<const int8_t*>(tiles->buffer) + source.places_bytes;
  const int8_t** const end = tiles->a + DivideUp(tiles->rows, tiles->mr) * tiles->mr;
  for (const int8_t** a = tiles->a; a < end; row += source.depth) *a++ = row;
  tiles->taps = 1;
  tiles->k = source.depth;
}

class QlinearConv final : public OperatorOf<QlinearConvAttributes> {
 public:
  Status InferShape() override;
  Status Prepare() override;
  void Run(ThreadPool& pool) override;

 private:
  bool is_real() const { return attributes().to == QlinearConvTo::kF32; }
  Status CheckSteps(size_t panels, size_t taps, size_t k) const;

  Window window_;
  Epilogue<int8_t> epilogue_;
  GemmDriver<int8_t> gemm_;
  bool gathers_ = false;
  int64_t k_ = 0;             // GemmSource has it
  int64_t depth_ = 0;         // of rows that kernels read whole
  int64_t packed_depth_ = 0;  // of weights
  int64_t places_bytes_ = 0;  // GemmSource has it
  int32_t padding_ = 0;       // what it holds
};

Status QlinearConv::InferShape() {
  const Tensor &x = input(0), &w = input(1);
  TRIMTAB_RETURN_IF_ERROR(ReadConvolution({x, w, &input(2), nullptr}, attributes().strides,
                                          attributes().pads, attributes().dilations, &window_,
                                          &output().dims));
  TRIMTAB_RETURN_IF_ERROR(CheckQuantizedOperands(x, w, input(2), input(3)));
  const int64_t group = attributes().group;
  TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] % group == 0,
                "channels are no multiple of the groups (input channels, groups)", x.c(), group);
  TRIMTAB_CHECK(w.dims[1] == x.c() / group,
                "weights do not fit the input's channels (expected, found)", x.c() / group,
                w.dims[1]);
  if (is_real()) output().dtype = DType::kF32;
  return Status();
}

Status QlinearConv::Prepare() {
  const int64_t fold = attributes().fold, group = attributes().group;
  const int64_t columns = fold * output().c() / group;
  const int64_t kr = attributes().depth_step, mr = attributes().kernel.mr;
  TRIMTAB_RETURN_IF_ERROR(ReadZeroPoint(input(0), &padding_));
  if (!is_real()) TRIMTAB_RETURN_IF_ERROR(BindLimits(attributes(), output(), &epilogue_));
  epilogue_.kr = static_cast<uint16_t>(kr);
  const bool is_pointwise = window_.pointwise();
  k_ = input(1).dims[1] * (is_pointwise ? fold : 1);
  gathers_ = k_ % kr != 0;
  depth_ = RoundUp(window_.taps() * k_, kr) * (is_pointwise ? 1 : fold);
  if (fold > 1) {
    TRIMTAB_CHECK(group == 1 && (is_pointwise || gathers_), "pixels of this window are not folded");
    const bool is_apart = is_pointwise && input(0).pixel_stride() != input(0).c();
    TRIMTAB_CHECK(!is_apart && output().pixel_stride() == output().c(),
                  "folded pixels have others between them");
  }
  int64_t taps = window_.taps(), buffer_bytes = 0;
  if (gathers_ || fold > 1) {
    places_bytes_ =
        static_cast<int64_t>(RoundUp(static_cast<size_t>(taps) * sizeof(size_t), kWord));
    buffer_bytes =
        places_bytes_ + mr * attributes().call_tiles * depth_ + static_cast<int64_t>(kWord);
    taps = 1;
  }
  ProductPlan plan(attributes());
  packed_depth_ = depth_;
  if (attributes().steps > 0) {
    constexpr auto kHeader = static_cast<int64_t>(sizeof(PairedStep));
    const int64_t nr = attributes().kernel.nr;
    TRIMTAB_CHECK(nr > 0 && kHeader % nr == 0, "no panels of paired weights have this width", nr);
    plan.family = NameHash("paired_gemm");
    packed_depth_ = attributes().steps * (kPairedDepth + kHeader / nr);
    epilogue_.steps = static_cast<size_t>(attributes().steps);
  }
  TRIMTAB_RETURN_IF_ERROR(gemm_.Bind(plan, input(1), &input(2), group, columns, packed_depth_, taps,
                                     is_pointwise ? 0 : k_, threads(), buffer_bytes));
  TRIMTAB_RETURN_IF_ERROR(
      CheckSteps(static_cast<size_t>(group) * gemm_.panels(static_cast<size_t>(columns)),
                 static_cast<size_t>(taps), static_cast<size_t>(gathers_ ? depth_ : k_)));
  const int64_t padded =
      group * static_cast<int64_t>(gemm_.panels(static_cast<size_t>(columns)) * gemm_.nr());
  TRIMTAB_RETURN_IF_ERROR(
      BindFactors(input(3), optional_input(4), static_cast<uint64_t>(padded), &epilogue_));
  return RequestScratch(gemm_.scratch_bytes());
}

// That steps of paired weights read nothing but the rows of `taps`, of k elements.
Status QlinearConv::CheckSteps(size_t panels, size_t taps, size_t k) const {
  const auto* w = input(1).data<int8_t>();
  for (; epilogue_.steps > 0 && panels > 0; --panels) {
    uint32_t place = 0;
    for (size_t i = 0; i < epilogue_.steps; ++i) {
      PairedStep step;
      __builtin_memcpy(&step, w, sizeof(step));
      w += sizeof(step) + kPairedDepth * gemm_.nr();
      bool is_inside = step.place >= place && step.place / k < taps &&
                       step.place % k + kPairedDepth <= k && step.count <= epilogue_.steps;
      for (uint8_t index : step.index) is_inside = is_inside && index < kPairedDepth;
      TRIMTAB_CHECK(is_inside, "a step of paired weights lies outside of the rows (its place)",
                    step.place);
      place = step.place;
    }
  }
  return Status();
}

void QlinearConv::Run(ThreadPool& pool) {
  const Tensor& x = input(0);
  Tensor& y = output();
  const auto fold = static_cast<size_t>(attributes().fold);
  const size_t all = static_cast<size_t>(y.n()) * y.h() * y.w(), rest = all % fold;
  GemmSource source{{window_, x.h(), x.w(), y.h(), y.w(), x.pixel_stride(), x.data<int8_t>(),
                     gemm_.Zeros(scratch<void>(), padding_)},
                    static_cast<size_t>(k_),
                    static_cast<size_t>(depth_),
                    fold,
                    static_cast<size_t>(places_bytes_),
                    0,
                    all,
                    x.data<int8_t>() + (x.Count() / x.c() - 1) * x.pixel_stride() + x.c()};
  const EvenRows<int8_t> pixels{source.window.x, fold * source.window.pixel_stride, source.k,
                                source.k};
  const bool reads_on = window_.pointwise() && attributes().group == 1;
  GemmJob<int8_t> job;
  job.point = reads_on ? PointAtPixelsAndOn : gathers_ ? GatherPixels : PointAtPixels;
  job.context = &source;
  if (window_.pointwise() && !gathers_) {
    job.point = PointAtEvenRows<int8_t>;
    job.context = &pixels;
  }
  job.w = input(1).data<int8_t>();
  job.bias = input(2).data<int32_t>();
  job.residual = nullptr;
  job.c = is_real() ? nullptr : y.data<int8_t>();
  job.reals = is_real() ? y.data<float>() : nullptr;
  job.groups = static_cast<size_t>(attributes().group);
  job.lines = 1;  // pixels of all rows and images lie evenly
  job.line_rows = all / fold;
  job.columns = fold * static_cast<size_t>(y.c()) / job.groups;
  job.depth = static_cast<size_t>(packed_depth_);
  job.row_stride = fold * y.pixel_stride();
  job.line_stride = 0;
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
  if (rest == 0) return;
  // Those that fill no row: its first columns.
  source.first = all - rest;
  source.count = rest;
  job.point = reads_on ? PointAtPixelsAndOn : GatherPixels;
  job.context = &source;
  job.line_rows = 1;
  job.columns = rest * static_cast<size_t>(y.c());
  const size_t done = source.first * y.pixel_stride();
  if (is_real()) {
    job.reals += done;
  } else {
    job.c += done;
  }
  gemm_.Run(job, epilogue_, scratch<void>(), pool);
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(QlinearConv)
