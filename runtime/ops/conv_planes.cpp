// Convolution in plain order: a row of the result is a sum of parts of padded lines.
#include "generated/attributes/conv_planes.h"

#include <string.h>

#include "runtime/core/operator.h"
#include "runtime/core/parallel.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/padded_planes.h"

namespace trimtab {
namespace {

constexpr int64_t kMaxPhases = 64;

// Writes row `to` of `n` elements from rows of its phases, `stride` elements apart.
void Interleave(const float* from, size_t stride, size_t phases, float* to, size_t n) {
  const size_t pairs = phases == 2 ? n / 2 : 0;
  for (size_t i = 0; i < pairs; ++i) {
    to[2 * i] = from[i];
    to[2 * i + 1] = from[stride + i];
  }
  for (size_t i = 2 * pairs; i < n; ++i) to[i] = from[i % phases * stride + i / phases];
}

class ConvPlanes final : public OperatorOf<ConvPlanesAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor &x = input(0), &y = output();
    const auto groups = static_cast<size_t>(attributes().group);
    const auto plane = static_cast<size_t>(windows_.h()) * static_cast<size_t>(windows_.w());
    const size_t blocks = DivideUp(static_cast<size_t>(windows_.h()), PaddedPlanes::kRows);
    const size_t channels = static_cast<size_t>(x.c()) / groups;
    const size_t planes = static_cast<size_t>(windows_.c()) / groups;
    const size_t items = static_cast<size_t>(x.n()) * groups * blocks;
    pool.For(items, plane / blocks * taps() * planes, [&](size_t begin, size_t end, int thread) {
      auto* const offsets = scratch<size_t>(static_cast<size_t>(thread) * thread_bytes_);
      auto* const lines = reinterpret_cast<float*>(offsets + taps() + line_taps_);
      memset(lines, 0, thread_bytes_ - (taps() + line_taps_) * sizeof(*offsets));
      float* const row = lines + channels * planes_.elements() + kMaxTileColumns;
      SetOffsets(channels, offsets);
      PlaneRowsArgs<float> args;
      args.offsets = offsets;
      args.taps = taps();
      args.planes = planes;
      args.n = static_cast<size_t>(windows_.w());
      args.clamp_min = epilogue_.clamp_min;
      args.clamp_max = epilogue_.clamp_max;
      for (size_t item = begin; item < end; ++item) {
        const size_t image = item / blocks / groups, group = item / blocks % groups;
        const auto first = static_cast<int32_t>(item % blocks) * PaddedPlanes::kRows;
        const size_t from = image * static_cast<size_t>(x.c()) + group * channels;
        for (size_t c = 0; c < channels; ++c)
          planes_.Copy(x, from + c, first, lines + c * planes_.elements());
        args.w = data<float>(1) + group * taps() * planes;
        args.bias = has_input(2) ? data<float>(2) + group * planes : nullptr;
        args.x = lines;
        if (phases() > 1) {  // a row of each to the cache first
          args.y = row;
          args.y_plane = args.n;
          args.line_taps = 0;
          float* const to = result<float>() + (image * groups + group) * planes / phases() *
                                                  static_cast<size_t>(y.h()) *
                                                  static_cast<size_t>(y.w());
          for (size_t i = 0; i < planes_.Rows(windows_, first); ++i) {
            kernel_(args);
            epilogue_.Activate(row, planes, args.n, args.n);
            WriteBlocks(row, planes, static_cast<size_t>(first) + i, to);
            args.x += planes_.row_step();
          }
          continue;
        }
        args.y = result<float>() + (image * groups + group) * planes * plane +
                 static_cast<size_t>(first) * args.n;
        for (size_t left = planes_.Rows(windows_, first), used; left > 0; left -= used) {
          used = line_taps_ != 0 && left > 1 ? 2 : 1;
          args.line_taps = used == 2 ? line_taps_ : 0;
          args.y_plane = used == 2 ? args.n : plane;
          kernel_(args);
          epilogue_.Activate(args.y, used == 2 ? 2 : planes, args.n, args.y_plane);
          args.x += used * planes_.row_step();
          args.y += used * args.n;
        }
      }
    });
  }

 private:
  Status InferShape() override {
    const Tensor &x = input(0), &w = input(1);
    const int64_t group = attributes().group;
    TRIMTAB_RETURN_IF_ERROR(CheckImage(x));
    TRIMTAB_CHECK(w.dims.rank == 4, "weights must have four dimensions", w.dims.rank);
    TRIMTAB_RETURN_IF_ERROR(ReadWindow(w.dims[1], w.dims[2], attributes().strides,
                                       attributes().pads, attributes().dilations, &window_));
    TRIMTAB_CHECK(group >= 1 && x.c() % group == 0 && w.dims[0] == x.c() && w.dims[3] >= 1,
                  "weights do not fit the input's channels and the groups", x.c(), group);
    const int64_t channels = w.dims[3] * group;
    TRIMTAB_CHECK(channels <= kMaxElements, "too many output channels", channels);
    TRIMTAB_CHECK(!has_input(2) || input(2).Count() == channels,
                  "bias does not fit the output's channels", channels);
    windows_.dims = x.dims;
    windows_.dims[1] = static_cast<int32_t>(channels);
    TRIMTAB_RETURN_IF_ERROR(WindowOutput(window_, x, false, &windows_.dims[2], &windows_.dims[3]));
    Dims& y = output().dims;
    y = windows_.dims;
    int64_t area = 1;
    for (int i = 0; i < 2; ++i) {
      const int64_t phases = attributes().phases[static_cast<size_t>(i)];
      const int64_t crop = attributes().crop[static_cast<size_t>(i)];
      TRIMTAB_CHECK(phases >= 1 && phases <= kMaxPhases && crop >= 0 && crop < phases,
                    "phases are out of range (phases, crop)", phases, crop);
      const int64_t size = y[2 + i] * phases - crop;
      TRIMTAB_CHECK(size <= INT32_MAX, "the result is too large (size)", size);
      y[2 + i] = static_cast<int32_t>(size);
      area *= phases;
    }
    TRIMTAB_CHECK(w.dims[3] % area == 0, "the outputs are no multiple of the phases", area);
    y[1] = static_cast<int32_t>(channels / area);
    return CheckImage(output());
  }

  Status Prepare() override {
    TRIMTAB_RETURN_IF_ERROR(BindEpilogue(attributes(), &epilogue_));
    planes_.SetUp(window_, input(0), windows_);
    const auto channels = static_cast<uint64_t>(input(0).c() / attributes().group);
    const bool pairs =
        channels == 1 && input(1).dims[3] == 1 && window_.stride_h == 1 && window_.dilation_h == 1;
    line_taps_ = pairs ? static_cast<size_t>(window_.kernel_w) : 0;
    const uint64_t row = phases() > 1 ? uint64_t{static_cast<uint32_t>(input(1).dims[3])} *
                                            static_cast<uint64_t>(windows_.w())
                                      : 0;
    const uint64_t elements = channels * planes_.elements() + kMaxTileColumns + row;
    const uint64_t offsets = channels * static_cast<uint64_t>(window_.taps()) + line_taps_;
    const uint64_t bytes =
        RoundUp<uint64_t>(elements * sizeof(float) + offsets * sizeof(size_t), 64);
    thread_bytes_ = static_cast<size_t>(bytes);
    TRIMTAB_RETURN_IF_ERROR(RequestScratch(bytes * static_cast<uint64_t>(threads())));
    return Bind<NameHash("plane_rows")>(attributes().kernel, &kernel_);
  }

  // Writes the lines of the result that a row of windows computes.
  void WriteBlocks(const float* row, size_t planes, size_t line, float* to) const {
    const auto rows = static_cast<size_t>(attributes().phases[0]);
    const auto columns = static_cast<size_t>(attributes().phases[1]);
    const auto height = static_cast<size_t>(output().h()),
               width = static_cast<size_t>(output().w());
    const auto n = static_cast<size_t>(windows_.w());
    for (size_t plane = 0; plane < planes; plane += columns) {
      const size_t channel = plane / columns / rows, at = line * rows + plane / columns % rows;
      if (at >= height) continue;
      Interleave(row + plane * n, n, columns, to + (channel * height + at) * width, width);
    }
  }

  // Pixels of the result that a window computes.
  size_t phases() const {
    return static_cast<size_t>(attributes().phases[0]) *
           static_cast<size_t>(attributes().phases[1]);
  }

  // The products that a row of the result sums.
  size_t taps() const {
    return static_cast<size_t>(input(0).c() / attributes().group) *
           static_cast<size_t>(window_.taps());
  }

  // With pairs of rows, also those of another line.
  void SetOffsets(size_t channels, size_t* offsets) const {
    const int32_t lines = window_.kernel_h + (line_taps_ != 0 ? 1 : 0);
    for (size_t c = 0; c < channels; ++c) {
      for (int32_t tap = 0; tap < lines * window_.kernel_w; ++tap) {
        *offsets++ =
            c * planes_.elements() + planes_.Offset(tap / window_.kernel_w, tap % window_.kernel_w);
      }
    }
  }

  Window window_;
  Tensor windows_;  // shape of a result of one pixel for each window
  Epilogue<float> epilogue_;
  Kernel<PlaneRowsArgs<float>> kernel_ = nullptr;
  PaddedPlanes planes_;
  size_t line_taps_ = 0;  // of a line, if two rows of a plane are computed at once
  size_t thread_bytes_ = 0;
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(ConvPlanes)
