#include "generated/attributes/resize.h"

#include <math.h>
#include <string.h>

#include "runtime/core/copy.h"
#include "runtime/ops/sizes.h"

namespace trimtab {
namespace resizing {

constexpr float kTieTolerance = 1e-6f;
constexpr int kBatch = 4;  // taps that one pass over the channels accumulates

inline float Clamp(float value, float low, float high) {
  return value < low ? low : value > high ? high : value;
}

// Interpolation along height or width: the input pixels of each output pixel and their weights.
struct AxisTable {
  int32_t in = 0, out = 0;
  float scale = 1, roi_begin = 0, roi_end = 1;
  size_t window = 1;         // maximum number of taps per output pixel
  int32_t* first = nullptr;  // [out]: first tap; -1: outside of the input (tf_crop_and_resize)
  float* weights = nullptr;  // [out][window]; 0 for absent taps

  size_t entries() const { return static_cast<size_t>(out) * (window + 1); }
};

// y[c] (+)= sum over t of w[t] * x[t][c]
template <typename T>
void AddTaps(const T* const* x, const float* w, bool first, T* y, size_t channels) {
  const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
  if (first) {
    for (size_t c = 0; c < channels; ++c) {
      y[c] = (w0 * x0[c] + w1 * x1[c]) + (w2 * x2[c] + w3 * x3[c]);
    }
  } else {
    for (size_t c = 0; c < channels; ++c) {
      y[c] = y[c] + (w0 * x0[c] + w1 * x1[c]) + (w2 * x2[c] + w3 * x3[c]);
    }
  }
}

}  // namespace resizing

namespace {

// Formulas and float arithmetic of onnxruntime's CPU provider (upsamplebase.h,
// upsample_antialias.h), so that rounding selects the same pixels; ONNX does not define this.
template <typename T>
class Resize final : public OperatorOf<ResizeAttributes> {
  using AxisTable = resizing::AxisTable;
  using Mode = ResizeMode;
  using CoordinateMode = ResizeCoordinateMode;
  using NearestMode = ResizeNearestMode;

 public:
  void Run(ThreadPool& pool) override {
    auto* table = scratch<float>();
    for (AxisTable& axis : axes_) {
      axis.weights = table;
      axis.first = reinterpret_cast<int32_t*>(table + static_cast<size_t>(axis.out) * axis.window);
      table += axis.entries();
      for (int32_t i = 0; i < axis.out; ++i) SetTaps(axis, i);
    }
    doubles_ = axes_[1].out == 2 * axes_[1].in;
    for (int32_t i = 0; doubles_ && i < axes_[1].out; ++i) doubles_ = axes_[1].first[i] == i / 2;
    const Tensor& y = output();
    const auto row = static_cast<size_t>(y.w()) * static_cast<size_t>(y.c());
    const auto rows = static_cast<size_t>(y.n()) * static_cast<size_t>(y.h());
    pool.For(rows, row, [&](size_t begin, size_t end, int thread) {
      if (!IsPlane()) {
        for (size_t i = begin; i < end; ++i) ComputeRow(i);
        return;
      }
      float* const blended = table + static_cast<size_t>(axes_[1].in) * static_cast<size_t>(thread);
      const auto lines = static_cast<size_t>(axes_[0].out);
      size_t image = begin / lines, line = begin % lines;
      for (size_t i = begin; i < end; ++i, ++line) {
        if (line == lines) {
          line = 0;
          ++image;
        }
        ComputePlaneRow(image, line, i > begin, blended);
      }
    });
  }

 protected:
  Status InferShape() override {
    const Tensor& x = input(0);
    const ResizeAttributes& a = attributes();
    TRIMTAB_CHECK(x.dims.rank == 4, "the input must be [n, c, h, w] (rank)", x.dims.rank);
    TRIMTAB_CHECK(a.scales.size == 0 || a.scales.size == 2, "two scales or none", a.scales.size);
    TRIMTAB_CHECK(a.roi.size == 0 || a.roi.size == 4, "four roi values or none", a.roi.size);
    const bool has_terms = source() == SizeSource::kTerms;
    int32_t terms[2];
    if (has_terms) {
      TRIMTAB_RETURN_IF_ERROR(ComputeTerms(a.sizes, input(1).dims, 2, terms));
    } else {
      constexpr bool kIsChecked =
          ResizeAttributes::kSizeSources == static_cast<unsigned>(SizeSource::kAttributes);
      TRIMTAB_CHECK(kIsChecked || a.sizes.size == 2, "there must be two sizes", a.sizes.size);
    }
    output().dims = x.dims;
    for (int i = 0; i < 2; ++i) {
      AxisTable& axis = axes_[i];
      const int64_t size = has_terms ? terms[i] : a.sizes[static_cast<size_t>(i)];
      TRIMTAB_CHECK(size > 0 && size <= INT32_MAX && x.dims[2 + i] > 0, "size is out of range",
                    size);
      axis.in = x.dims[2 + i];
      axis.out = static_cast<int32_t>(size);
      output().dims[2 + i] = axis.out;
      const float ratio = static_cast<float>(axis.out) / static_cast<float>(axis.in);
      axis.scale = a.scales.size == 0 ? ratio : a.scales[static_cast<size_t>(i)];
      // Smaller scales yield no whole output pixel and would only make the tables large.
      TRIMTAB_CHECK(axis.scale * static_cast<float>(axis.in) >= 0.5f && axis.scale <= 0x1p30f,
                    "scale is out of range (axis)", i);
      if (a.roi.size == 4) {
        axis.roi_begin = a.roi[static_cast<size_t>(i)];
        axis.roi_end = a.roi[static_cast<size_t>(i + 2)];
        TRIMTAB_CHECK(fabsf(axis.roi_begin) <= 0x1p20f && fabsf(axis.roi_end) <= 0x1p20f,
                      "roi is out of range (axis)", i);
      }
      axis.window = a.mode == Mode::kNearest ? 1 : 2 * CeilSupport(axis) + 1;
      if (axis.window > static_cast<size_t>(axis.in)) axis.window = static_cast<size_t>(axis.in);
      TRIMTAB_CHECK(
          static_cast<int64_t>(axis.out) * static_cast<int64_t>(axis.window + 1) <= kMaxElements,
          "the tables are too large (axis)", i);
    }
    return Status();
  }

  Status Prepare() override {
    const uint64_t tables = uint64_t{axes_[0].entries() + axes_[1].entries()};
    const uint64_t width = IsPlane() ? static_cast<uint64_t>(axes_[1].in) : 0;
    return RequestScratch((tables + width * static_cast<uint64_t>(threads())) * sizeof(float));
  }

 private:
  SizeSource source() const { return SizeSourceOf<ResizeAttributes>(false, has_input(1)); }

  // Half the width of the linear filter in input pixels, rounded up.
  size_t CeilSupport(const AxisTable& axis) const {
    return static_cast<size_t>(ceilf(FilterScale(axis)));
  }

  float FilterScale(const AxisTable& axis) const {
    const float shrink = 1.0f / axis.scale;
    return attributes().antialias && shrink > 1.0f ? shrink : 1.0f;
  }

  float Coordinate(const AxisTable& axis, int32_t index) const {
    const auto i = static_cast<float>(index);
    const auto in = static_cast<float>(axis.in), out = static_cast<float>(axis.out);
    switch (attributes().coordinate_mode) {
      case CoordinateMode::kAsymmetric:
        // With sizes, uses the exact ratio: the rounded scale would miss ties between two pixels.
        return attributes().scales.size == 0 ? i * in / out : i / axis.scale;
      case CoordinateMode::kPytorchHalfPixel:
        return out > 1 ? (i + 0.5f) / axis.scale - 0.5f : 0.0f;
      case CoordinateMode::kTfHalfPixelForNn:
        return (i + 0.5f) / axis.scale;
      case CoordinateMode::kAlignCorners:
        return out == 1 ? 0.0f : i * (in - 1) / (out - 1);
      case CoordinateMode::kTfCropAndResize:
        return out > 1 ? axis.roi_begin * (in - 1) +
                             (i * (axis.roi_end - axis.roi_begin) * (in - 1)) / (out - 1)
                       : 0.5f * (axis.roi_begin + axis.roi_end) * (in - 1);
      case CoordinateMode::kHalfPixelSymmetric: {
        const float center_shift = in / 2 * (1 - out / (axis.scale * in));
        const double scale = static_cast<double>(axis.scale);
        return static_cast<float>(static_cast<double>(center_shift) + (index + 0.5) / scale - 0.5);
      }
      case CoordinateMode::kHalfPixel:
        break;
    }
    return (i + 0.5f) / axis.scale - 0.5f;
  }

  int32_t Nearest(float x) const {
    const float below = floorf(x);
    const auto at = static_cast<int32_t>(below);
    const float rest = x - below;
    // The coordinate of a tie may differ from 0.5 by rounding.
    const bool tie = fabsf(rest - 0.5f) <= resizing::kTieTolerance;
    switch (attributes().nearest_mode) {
      case NearestMode::kRoundPreferFloor:
        return at + (rest > 0.5f && !tie);
      case NearestMode::kRoundPreferCeil:
        return at + (rest > 0.5f || tie);
      case NearestMode::kFloor:
        return at;
      case NearestMode::kCeil:
        break;
    }
    return at + (rest > 0);
  }

  void SetTaps(const AxisTable& axis, int32_t i) const {
    const bool linear = attributes().mode == Mode::kLinear;
    const auto last = static_cast<float>(axis.in - 1);
    float x = linear && axis.scale == 1.0f ? static_cast<float>(i) : Coordinate(axis, i);
    float* weights = axis.weights + static_cast<size_t>(i) * axis.window;
    memset(weights, 0, axis.window * sizeof(float));
    axis.first[i] = -1;
    const bool crops = attributes().coordinate_mode == CoordinateMode::kTfCropAndResize;
    if (crops && (x < 0 || x > last)) return;
    if (!linear) {
      const int32_t at = Nearest(resizing::Clamp(x, -1.0f, last + 1.0f));
      axis.first[i] = at < 0 ? 0 : at >= axis.in ? axis.in - 1 : at;
      weights[0] = 1;
      return;
    }
    // A triangle filter around x; taps outside of the input use the pixel at its edge.
    if (!attributes().antialias) x = resizing::Clamp(x, 0.0f, last);
    const float support = FilterScale(axis);
    x = resizing::Clamp(x, -1.0f - support, last + 1.0f + support);
    const auto begin = static_cast<int32_t>(floorf(x + 1.0f - support));
    const auto end = static_cast<int32_t>(floorf(x + 1.0f + support));
    const int32_t first = begin < 0 ? 0 : begin >= axis.in ? axis.in - 1 : begin;
    float total = 0;
    for (int32_t tap = begin; tap < end; ++tap) {
      const bool inside = tap >= 0 && tap < axis.in;
      if (!inside && attributes().antialias && attributes().exclude_outside) continue;
      const float distance = fabsf((static_cast<float>(tap) - x) / support);
      const float weight = distance < 1.0f ? 1.0f - distance : 0.0f;
      const int32_t at = tap < first ? first : tap >= axis.in ? axis.in - 1 : tap;
      const auto slot = static_cast<size_t>(at - first);
      if (slot >= axis.window) continue;
      weights[slot] += weight;
      total += weight;
    }
    for (size_t t = 0; t < axis.window && total > 0; ++t) weights[t] /= total;
    axis.first[i] = first;
  }

  // Whether neighboring pixels of a row are neighboring elements, and each result has at most two
  // taps per axis.
  bool IsPlane() const {
    const bool is_plain =
        input(0).dims[1] == 1 && input(0).pixel_stride() == 1 && output().pixel_stride() == 1;
    return is_plain && attributes().coordinate_mode != CoordinateMode::kTfCropAndResize &&
           FilterScale(axes_[0]) == 1.0f && FilterScale(axes_[1]) == 1.0f;
  }

  // A row of an image of one channel: the blend of two rows, then of its neighboring pixels.
  // `blended`: room for a row of the input; `has_above`: the row above is computed.
  void ComputePlaneRow(size_t image, size_t oy, bool has_above, float* __restrict blended) const {
    const AxisTable &v = axes_[0], &h = axes_[1];
    const auto out = static_cast<size_t>(h.out), in = static_cast<size_t>(h.in);
    const auto first = static_cast<size_t>(v.first[oy]);
    const T* const from =
        static_cast<const T*>(input(0).raw) + (image * static_cast<size_t>(v.in) + first) * in;
    const size_t row = image * static_cast<size_t>(v.out) + oy;
    T* __restrict to = static_cast<T*>(output().raw) + row * out;
    if (attributes().mode == Mode::kNearest) {
      if (has_above && oy > 0 && v.first[oy] == v.first[oy - 1]) {
        Copy(to, to - out, out * sizeof(T));
      } else if (doubles_) {
        for (size_t x = 0; x < in; ++x) to[2 * x] = to[2 * x + 1] = from[x];
      } else {
        for (size_t x = 0; x < out; ++x) to[x] = from[h.first[x]];
      }
      return;
    }
    const bool has_below = v.window > 1 && first + 1 < static_cast<size_t>(v.in);
    const T* const below = has_below ? from + in : from;
    const float* const wy = v.weights + oy * v.window;
    const float above_weight = wy[0], below_weight = has_below ? wy[1] : 0.0f;
    for (size_t x = 0; x < in; ++x) blended[x] = above_weight * from[x] + below_weight * below[x];
    if (h.window == 1) {  // the input has one column
      for (size_t x = 0; x < out; ++x) to[x] = blended[0];
      return;
    }
    const float* wx = h.weights;
    for (size_t x = 0; x < out; ++x, wx += h.window) {
      const auto left = static_cast<size_t>(h.first[x]);
      const size_t right = left + 1 < in ? left + 1 : left;
      to[x] = wx[0] * blended[left] + wx[1] * blended[right];
    }
  }

  void ComputeRow(size_t row) const {
    const Tensor &x = input(0), &y = output();
    const AxisTable &v = axes_[0], &h = axes_[1];
    const auto channels = static_cast<size_t>(y.c());
    const size_t image = row / static_cast<size_t>(v.out), oy = row % static_cast<size_t>(v.out);
    const size_t x_pixel = x.pixel_stride(), y_pixel = y.pixel_stride();
    const size_t x_row = static_cast<size_t>(h.in) * x_pixel;
    const T* from = static_cast<const T*>(x.raw) + image * static_cast<size_t>(v.in) * x_row;
    T* to = static_cast<T*>(y.raw) + row * static_cast<size_t>(h.out) * y_pixel;
    for (size_t ox = 0; ox < static_cast<size_t>(h.out); ++ox, to += y_pixel) {
      if (v.first[oy] < 0 || h.first[ox] < 0) {
        for (size_t c = 0; c < channels; ++c) to[c] = attributes().extrapolation_value;
        continue;
      }
      const T* corner = from + static_cast<size_t>(v.first[oy]) * x_row +
                        static_cast<size_t>(h.first[ox]) * x_pixel;
      if (attributes().mode == Mode::kNearest) {
        Copy(to, corner, channels * sizeof(T));
      } else {
        Blend(corner, x_row, x_pixel, v.weights + oy * v.window, h.weights + ox * h.window, to,
              channels);
      }
    }
  }

  void Blend(const T* corner, size_t x_row, size_t x_pixel, const float* wy, const float* wx, T* to,
             size_t channels) const {
    const T* taps[resizing::kBatch];
    float weights[resizing::kBatch];
    int count = 0;
    bool first = true;
    const auto flush = [&] {
      for (int t = count; t < resizing::kBatch; ++t) {
        taps[t] = corner;
        weights[t] = 0;
      }
      resizing::AddTaps(taps, weights, first, to, channels);
      first = false;
      count = 0;
    };
    for (size_t ty = 0; ty < axes_[0].window; ++ty) {
      for (size_t tx = 0; tx < axes_[1].window; ++tx) {
        if (wy[ty] == 0 || wx[tx] == 0) continue;
        taps[count] = corner + ty * x_row + tx * x_pixel;
        weights[count] = wy[ty] * wx[tx];
        if (++count == resizing::kBatch) flush();
      }
    }
    if (count > 0 || first) flush();
  }

  AxisTable axes_[2];     // height, width
  bool doubles_ = false;  // the pixels of a row are two copies of each of the input
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(Resize, float, F32)
TRIMTAB_TYPED_OPERATOR(Resize, Half, F16)
