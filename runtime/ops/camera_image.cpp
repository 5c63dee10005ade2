#include "generated/attributes/camera_image.h"

#include "generated/op_ids.h"
#include "runtime/core/copy.h"
#include "runtime/core/operator.h"
#include "runtime/ops/camera_view.h"

namespace trimtab {
namespace {

constexpr size_t kMaxChannels = 3;
constexpr size_t kEntryBytes = sizeof(float) + 2 * sizeof(int32_t);  // of a Table

// Tables of an axis: [element][tap] of rows, [tap][element] of columns.
struct Table {
  float* weights;
  int32_t* offsets[2];  // in bytes, from the starts of the planes
};

// Half to even; NaN becomes the lowest value.
int8_t RoundToByte(float v) {
  v = v > INT8_MIN ? v : INT8_MIN;
  v = v < INT8_MAX ? v : INT8_MAX;
  return static_cast<int8_t>((v + 0x1.8p23f) - 0x1.8p23f);
}

size_t Larger(size_t a, size_t b) { return a > b ? a : b; }

// A value of a pixel's channel.
float Limited(float v) {
  v = v > 0.0f ? v : 0.0f;
  return v < 255.0f ? v : 255.0f;
}

class CameraImage final : public OperatorOf<CameraImageAttributes> {
 public:
  void Run(ThreadPool& pool) override;
  // Reads this frame instead of the input, as long as the input points at `*data`.
  Status SetFrame(const Frame& frame, const void** data);

 protected:
  Status InferShape() override;
  Status Prepare() override;

 private:
  // What a run reads: a view, and the first of each of its bytes.
  struct Source {
    const CameraView* view;
    const uint8_t* bytes[3];
    int64_t rows[2];  // bytes between rows, of the first byte and of the others
  };

  void SetScales();
  Source FindSource() const;
  void SetTable(const Source& source, const CameraViewAxis& axis, size_t size, size_t tap_step,
                size_t element_step, const Table& table) const;
  Table TableAt(size_t offset, size_t entries) const;
  void ComputeRow(const Source& source, int64_t row, const Table& down, const Table& across,
                  uint8_t* memory) const;
  void WriteRow(const CameraView& view, int64_t row, const float* channels, bool has_content) const;

  size_t channels() const { return attributes().channels == CameraImageChannels::kGray ? 1 : 3; }
  // Columns of the content, padded for the kernel.
  static size_t Padded(const CameraView& view) {
    return (view.across.size() + kCameraUnit - 1) / kCameraUnit * kCameraUnit;
  }
  static size_t DownEntries(const CameraView& view) {
    return view.down.size() * view.down.resampling.Window();
  }
  static size_t AcrossEntries(const CameraView& view) {
    return Padded(view) * view.across.resampling.Window();
  }
  size_t ThreadBytes(const CameraView& view) const {
    return (AcrossEntries(view) + RowChannels() * Padded(view)) * sizeof(float);
  }
  // Pillow resamples a row and limits its values before it weights rows; OpenCV limits the results.
  bool LimitsRows() const { return attributes().method == CameraImageMethod::kAntialiasBicubic; }
  // The sums of a row of the result, and those of a row of pixels if they are limited.
  size_t RowChannels() const { return LimitsRows() ? 2 * kMaxChannels : kMaxChannels; }
  uint64_t ScratchBytes(const CameraView& view) const {
    return ScratchBytes(view.down.size(), Padded(view), view.down.resampling.Window(),
                        view.across.resampling.Window());
  }
  // `down_taps`, `across_taps`: taps of an element of each axis.
  uint64_t ScratchBytes(size_t rows, size_t padded, size_t down_taps, size_t across_taps) const {
    const uint64_t down = uint64_t{rows} * down_taps, across = uint64_t{padded} * across_taps;
    const uint64_t thread = (across + RowChannels() * padded) * sizeof(float);
    return uint64_t{Larger(down_taps, across_taps)} * sizeof(float) +
           (down + across) * kEntryBytes + thread * static_cast<uint64_t>(threads());
  }
  uint64_t MaxScratchBytes() const;

  Kernel<CameraRowArgs<uint8_t>> kernel_ = nullptr;
  CameraView view_, frame_view_;  // of the input's bytes, and of the caller's frame
  Frame frame_;
  // Per channel of the result; quantized if that is int8.
  float scale_[kMaxChannels] = {}, offset_[kMaxChannels] = {}, around_[kMaxChannels] = {};
};

Status CameraImage::InferShape() {
  const CameraImageAttributes& a = attributes();
  const Tensor& x = input(0);
  const int64_t height = a.frame[0], width = a.frame[1];
  TRIMTAB_CHECK(height > 0 && height <= kMaxCameraSide && width > 0 && width <= kMaxCameraSide,
                "the frame's size is out of range (height, width)", height, width);
  const int64_t even = IsYuv(a.format) ? width + width % 2 : width;
  const int64_t bytes = PlanesOf(a.format).column[0];
  TRIMTAB_CHECK(a.stride >= even * bytes && a.stride <= 8 * kMaxCameraSide &&
                    !(IsYuv(a.format) && a.stride % 2 != 0),
                "rows do not fit the stride (stride)", a.stride);
  const int64_t rows = IsPlanar(a.format) ? height + (height + 1) / 2 : height;
  TRIMTAB_CHECK((x.dims.rank == 2 || x.dims.rank == 3) && x.dims[0] == rows &&
                    x.dims.Count(1, x.dims.rank) == a.stride,
                "the input must be a frame of [rows, stride] bytes (rows, stride)", rows, a.stride);
  const int64_t top = a.region[0], left = a.region[1];
  TRIMTAB_CHECK(top >= 0 && a.region[2] > 0 && a.region[2] <= height - top && left >= 0 &&
                    a.region[3] > 0 && a.region[3] <= width - left,
                "the region exceeds the frame (top, left)", top, left);
  for (int i = 0; i < 2; ++i) {
    const int64_t size = a.sizes[static_cast<size_t>(i)];
    const int64_t content = a.content[static_cast<size_t>(i + 2)];
    const int64_t place = a.content[static_cast<size_t>(i)];
    TRIMTAB_CHECK(size > 0 && size <= kMaxCameraSide && content > 0 && content <= kMaxCameraSide &&
                      place >= -kMaxCameraSide && place <= kMaxCameraSide,
                  "the size of the result or the content is out of range (axis)", i);
  }
  TRIMTAB_CHECK(
      a.fit != CameraImageFit::kCenterCrop || (a.shorter > 0 && a.shorter <= kMaxCameraSide),
      "the shorter side before a center crop is out of range", a.shorter);
  const size_t count = channels();
  TRIMTAB_CHECK(a.color.size == count && a.scale.size == count && a.offset.size == count,
                "color, scale and offset need a value for each channel (channels)", count);
  Tensor& y = output();
  y.dims.rank = 4;
  y.dims[0] = 1;
  y.dims[1] = static_cast<int32_t>(count);
  y.dims[2] = static_cast<int32_t>(a.sizes[0]);
  y.dims[3] = static_cast<int32_t>(a.sizes[1]);
  y.dtype = a.to == CameraImageTo::kI8 ? DType::kI8 : DType::kF32;
  if (output_count() > 1) {
    Tensor& placement = output(1);
    placement.dims.rank = 1;
    placement.dims[0] = 6;
    placement.dtype = DType::kF32;
  }
  return view_.Set(a, AdjacentFrame(a, nullptr));
}

Status CameraImage::Prepare() {
  const CameraImageAttributes& a = attributes();
  TRIMTAB_CHECK(a.to == CameraImageTo::kF32 ||
                    (output().quantization != nullptr && output().quantization->count == 1),
                "an int8 result needs one scale and zero point");
  SetScales();
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("camera_row")>(a.kernel, &kernel_));
  return RequestScratch(MaxScratchBytes());
}

// Frames that differ in size have other contents, which fill the result at most, and are shrunk by
// no more than the longer side would be, but for the rounding of the content to whole pixels.
uint64_t CameraImage::MaxScratchBytes() const {
  const CameraImageAttributes& a = attributes();
  if (a.fit == CameraImageFit::kFixed) return ScratchBytes(view_);
  size_t taps = a.method == CameraImageMethod::kBicubic ? 4 : 2;
  if (a.method == CameraImageMethod::kArea || a.method == CameraImageMethod::kAntialias ||
      LimitsRows()) {
    const auto longer = static_cast<size_t>(a.frame[0] > a.frame[1] ? a.frame[0] : a.frame[1]);
    int64_t shorter = a.sizes[0] < a.sizes[1] ? a.sizes[0] : a.sizes[1];
    if (a.fit == CameraImageFit::kCenterCrop && a.shorter > 0) shorter = a.shorter;
    taps = 2 * (3 * longer / (2 * static_cast<size_t>(shorter)) + 2) + 1;
    if (LimitsRows()) taps *= 2;
    taps = taps < longer ? taps : longer;
  }
  const auto width = static_cast<size_t>(a.sizes[1]);
  const size_t padded = (width + kCameraUnit - 1) / kCameraUnit * kCameraUnit;
  return ScratchBytes(static_cast<size_t>(a.sizes[0]), padded, taps, taps);
}

Status CameraImage::SetFrame(const Frame& frame, const void** data) {
  Frame complete = frame;
  TRIMTAB_RETURN_IF_ERROR(CompleteFrame(attributes(), &complete));
  CameraView view;
  TRIMTAB_RETURN_IF_ERROR(view.Set(attributes(), complete));
  if (ScratchBytes(view) > scratch_bytes()) {
    return Status(Code::kBadArgument,
                  TRIMTAB_TEXT("the image needs more memory than the camera's frame (bytes)"),
                  static_cast<int64_t>(ScratchBytes(view)), static_cast<int64_t>(scratch_bytes()));
  }
  frame_ = complete;
  frame_view_ = view;
  *data = &frame_;
  return Status();
}

CameraImage::Source CameraImage::FindSource() const {
  const bool is_own = input(0).raw != &frame_;
  const CameraView& view = is_own ? view_ : frame_view_;
  const Frame frame = is_own ? AdjacentFrame(attributes(), data<uint8_t>(0)) : frame_;
  Source source = {&view, {}, {frame.strides[0], frame.strides[view.planes.plane[1]]}};
  for (size_t i = 0; i < 3; ++i)
    source.bytes[i] = frame.planes[view.planes.plane[i]] + view.planes.start[i];
  return source;
}

void CameraImage::SetScales() {
  const CameraImageAttributes& a = attributes();
  const bool is_quantized = a.to == CameraImageTo::kI8;
  for (size_t c = 0; c < channels(); ++c) {
    const float scale = a.scale[c], offset = a.offset[c];
    const float step = is_quantized ? output().quantization->scales()[0] : 1.0f;
    const int32_t zero = is_quantized ? output().quantization->zero_points()[0] : 0;
    scale_[c] = scale / step;
    offset_[c] = offset / step + static_cast<float>(zero);
    around_[c] = a.color[c] * scale_[c] + offset_[c];
  }
}

Table CameraImage::TableAt(size_t offset, size_t entries) const {
  auto* const memory = scratch<float>(offset);
  auto* const places = reinterpret_cast<int32_t*>(memory + entries);
  return {memory, {places, places + entries}};
}

// Elements beyond the content, up to `size`, have the weight 0 and read its last pixels.
void CameraImage::SetTable(const Source& source, const CameraViewAxis& axis, size_t size,
                           size_t tap_step, size_t element_step, const Table& table) const {
  const CameraPlanes& planes = source.view->planes;
  const size_t window = axis.resampling.Window();
  const auto entry = [&](size_t element, size_t tap, float weight, int64_t pixel) {
    const size_t at = element * element_step + tap * tap_step;
    const int64_t place = axis.first + axis.step * pixel;
    table.weights[at] = weight;
    for (int i = 0; i < 2; ++i) {
      const int64_t moved = place >> (axis.is_column ? planes.across : planes.down)[i];
      const int64_t bytes = axis.is_column ? planes.column[i] : source.rows[i];
      table.offsets[i][at] = static_cast<int32_t>(moved * bytes);
    }
  };
  float* const weights = scratch<float>();
  int64_t first = 0;
  for (size_t element = 0; element < axis.size(); ++element) {
    first = axis.resampling.SetTaps(axis.begin + static_cast<int64_t>(element), weights);
    for (size_t tap = 0; tap < window; ++tap)
      entry(element, tap, weights[tap], first + static_cast<int64_t>(tap));
  }
  for (size_t element = axis.size(); element < size; ++element)
    for (size_t tap = 0; tap < window; ++tap)
      entry(element, tap, 0, first + static_cast<int64_t>(tap));
}

void CameraImage::Run(ThreadPool& pool) {
  const Source source = FindSource();
  const CameraView& view = *source.view;
  const size_t taps = Larger(view.down.resampling.Window(), view.across.resampling.Window());
  const size_t down_at = taps * sizeof(float);
  const size_t across_at = down_at + DownEntries(view) * kEntryBytes;
  const size_t threads_at = across_at + AcrossEntries(view) * kEntryBytes;
  const Table down = TableAt(down_at, DownEntries(view));
  const Table across = TableAt(across_at, AcrossEntries(view));
  if (view.down.size() > 0) {
    SetTable(source, view.down, view.down.size(), 1, view.down.resampling.Window(), down);
    SetTable(source, view.across, Padded(view), Padded(view), 1, across);
  }
  if (output_count() > 1) {
    for (size_t i = 0; i < 6; ++i) result<float>(1)[i] = view.placement[i];
  }
  const size_t cost = AcrossEntries(view) * view.down.resampling.Window() * 8 + Padded(view);
  pool.For(static_cast<size_t>(output().h()), cost, [&](size_t begin, size_t end, int thread) {
    auto* const memory =
        scratch<uint8_t>(threads_at + ThreadBytes(view) * static_cast<size_t>(thread));
    for (size_t row = begin; row < end; ++row)
      ComputeRow(source, static_cast<int64_t>(row), down, across, memory);
  });
}

void CameraImage::ComputeRow(const Source& source, int64_t row, const Table& down,
                             const Table& across, uint8_t* memory) const {
  const CameraView& view = *source.view;
  const size_t padded = Padded(view);
  auto* const words = reinterpret_cast<uint32_t*>(memory);
  auto* const sums = reinterpret_cast<float*>(words + AcrossEntries(view));
  const int64_t element = row - view.down.place;
  const bool has_content = element >= 0 && element < static_cast<int64_t>(view.down.size());
  if (!has_content) return WriteRow(view, row, sums, false);
  CameraRowArgs<uint8_t> args = view.colors;
  for (size_t i = 0; i < 2; ++i) args.offsets[i] = across.offsets[i];
  args.words = words;
  args.w = across.weights;
  args.n = padded;
  args.taps = view.across.resampling.Window();
  const bool is_bgr = attributes().channels == CameraImageChannels::kBgr;
  const bool exchanges = is_bgr && args.colors == kCameraYuv;
  const auto channel = [&](size_t c) { return exchanges ? kMaxChannels - 1 - c : c; };
  const bool is_cubic = IsCubic(attributes().method);
  float* const pixels = LimitsRows() ? sums + kMaxChannels * padded : sums;
  for (size_t c = 0; c < kMaxChannels; ++c) {
    args.y[c] = pixels + channel(c) * padded;
    args.base[c] = is_cubic ? 0.0f : offset_[channel(c)];
  }
  if (LimitsRows())
    for (size_t i = 0; i < channels() * padded; ++i) sums[i] = 0;
  args.is_first = true;
  args.reverses = exchanges;
  // The last row of pixels may complete the result in place.
  const bool in_place = !is_cubic && output().dtype == DType::kF32 && channels() == kMaxChannels &&
                        padded == view.across.size();
  const size_t width = static_cast<size_t>(output().w()), window = view.down.resampling.Window();
  size_t last = window - 1;
  const float* const weights = down.weights + static_cast<size_t>(element) * window;
  while (last > 0 && weights[last] == 0) --last;
  for (size_t tap = 0; tap <= last; ++tap) {
    const size_t at = static_cast<size_t>(element) * window + tap;
    if (weights[tap] == 0 && tap < last) continue;
    if (tap == last && in_place) {
      const size_t pixel =
          static_cast<size_t>(row) * width + static_cast<size_t>(view.across.place);
      args.z = result<float>() + pixel * kMaxChannels;
    }
    for (size_t c = 0; c < channels(); ++c) {
      args.factor[c] = LimitsRows() ? 1.0f : weights[tap] * (is_cubic ? 1.0f : scale_[channel(c)]);
    }
    for (size_t i = 0; i < 3; ++i) args.rows[i] = source.bytes[i] + down.offsets[i > 0 ? 1 : 0][at];
    kernel_(args);
    args.is_first = LimitsRows();
    if (LimitsRows()) {
      for (size_t i = 0; i < channels() * padded; ++i) sums[i] += weights[tap] * Limited(pixels[i]);
    }
  }
  if (is_cubic) {
    for (size_t c = 0; c < channels(); ++c) {
      float* const values = sums + c * padded;
      for (size_t i = 0; i < padded; ++i) values[i] = Limited(values[i]) * scale_[c] + offset_[c];
    }
  }
  WriteRow(view, row, in_place ? nullptr : sums, true);
}

// A row of the result: the color around the content, and the channels of the content, unless
// `sums` is null because they are there.
void CameraImage::WriteRow(const CameraView& view, int64_t row, const float* sums,
                           bool has_content) const {
  const size_t count = channels(), width = static_cast<size_t>(output().w());
  const size_t begin = has_content ? static_cast<size_t>(view.across.place) : width;
  const size_t end = has_content ? begin + view.across.size() : width;
  const auto write = [&](auto* y, const auto& value) {
    const auto fill = [&](size_t first, size_t last) {
      if (first == last) return;
      const size_t bytes = count * sizeof(*y);
      auto* const to = y + first * count;
      for (size_t c = 0; c < count; ++c) to[c] = value(around_[c]);
      for (size_t i = 1, n = last - first; i < n; i *= 2)
        Copy(to + i * count, to, (i < n - i ? i : n - i) * bytes);
    };
    fill(0, begin);
    fill(end, width);
    if (sums == nullptr) return;
    for (size_t i = 0; i < end - begin; ++i)
      for (size_t c = 0; c < count; ++c)
        y[(begin + i) * count + c] = value(sums[c * Padded(view) + i]);
  };
  const size_t at = static_cast<size_t>(row) * width * count;
  if (output().dtype == DType::kF32) {
    write(result<float>() + at, [](float v) { return v; });
  } else {
    write(result<int8_t>() + at, RoundToByte);
  }
}

}  // namespace

const FrameReader kFrameReader = {kOpCameraImage,
                                  [](Operator* op, const Frame& frame, const void** data) {
                                    return static_cast<CameraImage*>(op)->SetFrame(frame, data);
                                  }};

}  // namespace trimtab

TRIMTAB_OPERATOR(CameraImage)
