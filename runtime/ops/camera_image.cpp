#include "generated/attributes.h"
#include "runtime/core/operator.h"
#include "runtime/ops/camera_axis.h"

namespace trimtab {
namespace {

using Format = CameraImageFormat;

constexpr int64_t kMaxSide = 1 << 14;
constexpr size_t kMaxChannels = 3;
constexpr size_t kEntryBytes = sizeof(float) + 2 * sizeof(int32_t);  // of a Table

// Where a frame's bytes are: luma or the first color, and the two others, which share their steps.
// A shift halves the coordinates of chroma.
struct Planes {
  int64_t start[3];
  int64_t column[2], row[2];  // bytes between pixels, of the first and of the others
  int across[2], down[2];     // shifts
};

Planes PlanesOf(Format format, int64_t rows, int64_t stride) {
  const int64_t chroma = rows * stride, second = (rows + 1) / 2 * (stride / 2);
  switch (format) {
    case Format::kNv12:
      return {{0, chroma, chroma + 1}, {1, 2}, {stride, stride}, {0, 1}, {0, 1}};
    case Format::kNv21:
      return {{0, chroma + 1, chroma}, {1, 2}, {stride, stride}, {0, 1}, {0, 1}};
    case Format::kI420:
      return {{0, chroma, chroma + second}, {1, 1}, {stride, stride / 2}, {0, 1}, {0, 1}};
    case Format::kYuyv:
      return {{0, 1, 3}, {2, 4}, {stride, stride}, {0, 1}, {0, 0}};
    case Format::kUyvy:
      return {{1, 0, 2}, {2, 4}, {stride, stride}, {0, 1}, {0, 0}};
    case Format::kRgb:
      return {{0, 1, 2}, {3, 3}, {stride, stride}, {0, 0}, {0, 0}};
    case Format::kBgr:
      return {{2, 1, 0}, {3, 3}, {stride, stride}, {0, 0}, {0, 0}};
    case Format::kRgba:
      return {{0, 1, 2}, {4, 4}, {stride, stride}, {0, 0}, {0, 0}};
    case Format::kBgra:
      return {{2, 1, 0}, {4, 4}, {stride, stride}, {0, 0}, {0, 0}};
    case Format::kGray:
      break;
  }
  return {{0, 0, 0}, {1, 1}, {stride, stride}, {0, 0}, {0, 0}};
}

bool IsYuv(Format format) { return format <= Format::kUyvy; }
bool IsPlanar(Format format) { return format <= Format::kI420; }

// One axis of the content: its taps, as places in the frame.
struct Axis {
  CameraAxis resampling;
  int64_t begin = 0, end = 0;  // elements of the content that are in the result
  int64_t place = 0;           // of the first of them, in the result
  int64_t first = 0;           // coordinate in the frame of pixel 0 of the axis
  int64_t step = 1;            // to the next pixel: 1, or -1
  bool is_column = true;       // along a row of the frame

  size_t size() const { return static_cast<size_t>(end - begin); }
};

// Tables of an axis: [element][tap] of rows, [tap][element] of columns.
struct Table {
  float* weights;
  int32_t* offsets[2];  // in bytes, from the starts of the planes
};

// A multiple of 2^-14: sums of such weights of bytes are exact in float, and so equal on all cores.
float Exact(float weight) { return ((weight * 0x1p14f + 0x1.8p23f) - 0x1.8p23f) * 0x1p-14f; }

// Half to even; NaN becomes the lowest value.
int8_t RoundToByte(float v) {
  v = v > INT8_MIN ? v : INT8_MIN;
  v = v < INT8_MAX ? v : INT8_MAX;
  return static_cast<int8_t>((v + 0x1.8p23f) - 0x1.8p23f);
}

class CameraImage final : public OperatorOf<CameraImageAttributes> {
 public:
  void Run(ThreadPool& pool) override;

 protected:
  Status InferShape() override;
  Status Prepare() override;

 private:
  Status SetAxes();
  void SetColors();
  void SetTable(const Axis& axis, size_t size, size_t tap_step, size_t element_step,
                const Table& table) const;
  Table TableAt(size_t offset, size_t entries) const;
  void ComputeRow(int64_t row, const Table& down, const Table& across, uint8_t* memory) const;
  void WriteRow(int64_t row, const float* channels, bool has_content) const;

  size_t channels() const { return attributes().channels == CameraImageChannels::kGray ? 1 : 3; }
  // Columns of the content, padded for the kernel.
  size_t padded() const { return (across_.size() + kCameraUnit - 1) / kCameraUnit * kCameraUnit; }
  size_t down_entries() const { return down_.size() * down_.resampling.Window(); }
  size_t across_entries() const { return padded() * across_.resampling.Window(); }
  // Taps of one element of either axis.
  size_t window() const {
    const size_t down = down_.resampling.Window(), across = across_.resampling.Window();
    return down > across ? down : across;
  }
  size_t thread_bytes() const {
    return (across_entries() + kMaxChannels * padded()) * sizeof(float);
  }

  Kernel<CameraRowArgs<uint8_t>> kernel_ = nullptr;
  Axis down_, across_;
  Planes planes_ = {};
  CameraRowArgs<uint8_t> colors_ = {};
  // Per channel of the result; quantized if that is int8.
  float scale_[kMaxChannels] = {}, offset_[kMaxChannels] = {}, around_[kMaxChannels] = {};
};

Status CameraImage::InferShape() {
  const CameraImageAttributes& a = attributes();
  const Tensor& x = input(0);
  const int64_t height = a.frame[0], width = a.frame[1];
  TRIMTAB_CHECK(height > 0 && height <= kMaxSide && width > 0 && width <= kMaxSide,
                "the frame's size is out of range (height, width)", height, width);
  const int64_t even = IsYuv(a.format) ? width + width % 2 : width;
  const int64_t bytes = PlanesOf(a.format, 0, 0).column[0];
  TRIMTAB_CHECK(a.stride >= even * bytes && a.stride <= 8 * kMaxSide &&
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
    TRIMTAB_CHECK(size > 0 && size <= kMaxSide && content > 0 && content <= kMaxSide &&
                      place >= -kMaxSide && place <= kMaxSide,
                  "the size of the result or the content is out of range (axis)", i);
  }
  const size_t count = channels();
  TRIMTAB_CHECK(a.color.size == count && a.scale.size == count && a.offset.size == count,
                "color, scale and offset need a value for each channel (channels)", count);
  planes_ = PlanesOf(a.format, height, a.stride);
  Tensor& y = output();
  y.dims.rank = 4;
  y.dims[0] = 1;
  y.dims[1] = static_cast<int32_t>(count);
  y.dims[2] = static_cast<int32_t>(a.sizes[0]);
  y.dims[3] = static_cast<int32_t>(a.sizes[1]);
  y.dtype = a.to == CameraImageTo::kI8 ? DType::kI8 : DType::kF32;
  return SetAxes();
}

Status CameraImage::SetAxes() {
  const CameraImageAttributes& a = attributes();
  const auto turn = static_cast<int>(a.rotation);  // quarters, clockwise
  const bool is_turned = turn % 2 != 0;
  Axis* const axes[] = {&down_, &across_};
  for (int i = 0; i < 2; ++i) {
    Axis& axis = *axes[i];
    axis.is_column = (i == 1) != is_turned;
    // Clockwise, the rows of the result are columns from the left, and its columns rows from below.
    const bool reverses = i == 0 ? turn == 2 || turn == 3 : turn == 1 || turn == 2;
    const size_t side = axis.is_column ? 1 : 0;
    const int64_t length = a.region[side + 2];
    axis.first = reverses ? a.region[side] + length - 1 : a.region[side];
    axis.step = reverses ? -1 : 1;
    const auto k = static_cast<size_t>(i);
    const int64_t out = a.content[k + 2], place = a.content[k], size = a.sizes[k];
    axis.resampling = {length, out, a.method, a.centers};
    TRIMTAB_CHECK(a.method != CameraImageMethod::kArea || out <= length,
                  "the mean of areas only shrinks pictures (axis)", i);
    axis.begin = place < 0 ? -place : 0;
    axis.end = size - place < out ? size - place : out;
    if (axis.end < axis.begin) axis.end = axis.begin;
    axis.place = place < 0 ? 0 : place;
  }
  // No content, if one axis has none.
  if (down_.size() == 0 || across_.size() == 0) down_.end = down_.begin;
  return Status();
}

Status CameraImage::Prepare() {
  const CameraImageAttributes& a = attributes();
  TRIMTAB_CHECK(a.to == CameraImageTo::kF32 ||
                    (output().quantization != nullptr && output().quantization->count == 1),
                "an int8 result needs one scale and zero point");
  SetColors();
  TRIMTAB_RETURN_IF_ERROR(Bind<NameHash("camera_row")>(a.kernel, &kernel_));
  const uint64_t tables = uint64_t{down_entries()} + across_entries();
  return RequestScratch(uint64_t{window()} * sizeof(float) + tables * kEntryBytes +
                        uint64_t{thread_bytes()} * static_cast<uint64_t>(threads()));
}

void CameraImage::SetColors() {
  const CameraImageAttributes& a = attributes();
  const bool is_bgr = a.channels == CameraImageChannels::kBgr;
  const bool is_quantized = a.to == CameraImageTo::kI8;
  for (size_t c = 0; c < channels(); ++c) {
    const float scale = a.scale[c], offset = a.offset[c];
    const float step = is_quantized ? output().quantization->scales()[0] : 1.0f;
    const int32_t zero = is_quantized ? output().quantization->zero_points()[0] : 0;
    scale_[c] = scale / step;
    offset_[c] = offset / step + static_cast<float>(zero);
    around_[c] = a.color[c] * scale_[c] + offset_[c];
  }
  CameraRowArgs<uint8_t>& args = colors_;
  args.black = 0;
  if (!IsYuv(a.format)) {
    args.colors = kCameraBytes;
    if (is_bgr) {
      const int64_t first = planes_.start[0];
      planes_.start[0] = planes_.start[2];
      planes_.start[2] = first;
    }
    if (channels() == 1) {
      args.colors = kCameraSum;
      args.weight[0] = a.format == Format::kGray ? 1.0f : Exact(0.299f);
      args.weight[1] = a.format == Format::kGray ? 0.0f : Exact(0.587f);
      args.weight[2] = a.format == Format::kGray ? 0.0f : Exact(0.114f);
    }
    return;
  }
  const bool is_limited = a.range == CameraImageRange::kLimited;
  const bool is_601 = a.matrix == CameraImageMatrix::kBt601;
  const float luma = is_limited ? 255.0f / 219.0f : 1.0f;
  const float chroma = is_limited ? 255.0f / 224.0f : 1.0f;
  args.black = is_limited ? 16.0f : 0.0f;
  if (channels() == 1) {
    args.colors = kCameraSum;
    args.weight[0] = Exact(luma);
    args.weight[1] = args.weight[2] = 0;
    return;
  }
  args.colors = kCameraYuv;
  const float red = is_601 ? 0.299f : 0.2126f, blue = is_601 ? 0.114f : 0.0722f;
  const float green = 1.0f - red - blue;
  args.weight[0] = luma;
  args.weight[1] = 2 * (1 - red) * chroma;
  args.weight[2] = -2 * (1 - blue) * blue / green * chroma;
  args.weight[3] = -2 * (1 - red) * red / green * chroma;
  args.weight[4] = 2 * (1 - blue) * chroma;
  if (is_limited && is_601) {  // OpenCV's constants, of three decimals
    const float rounded[] = {1.164f, 1.596f, -0.391f, -0.813f, 2.018f};
    for (int i = 0; i < 5; ++i) args.weight[i] = rounded[i];
  }
  for (float& weight : args.weight) weight = Exact(weight);
}

Table CameraImage::TableAt(size_t offset, size_t entries) const {
  auto* const memory = scratch<float>(offset);
  auto* const places = reinterpret_cast<int32_t*>(memory + entries);
  return {memory, {places, places + entries}};
}

// Elements beyond the content, up to `size`, have the weight 0 and read its first pixel.
void CameraImage::SetTable(const Axis& axis, size_t size, size_t tap_step, size_t element_step,
                           const Table& table) const {
  const size_t window = axis.resampling.Window();
  const auto entry = [&](size_t element, size_t tap, float weight, int64_t pixel) {
    const size_t at = element * element_step + tap * tap_step;
    const int64_t place = axis.first + axis.step * pixel;
    table.weights[at] = weight;
    for (int i = 0; i < 2; ++i) {
      const int64_t moved = place >> (axis.is_column ? planes_.across : planes_.down)[i];
      const int64_t bytes = (axis.is_column ? planes_.column : planes_.row)[i];
      table.offsets[i][at] = static_cast<int32_t>(moved * bytes);
    }
  };
  float* const weights = scratch<float>();
  for (size_t element = 0; element < axis.size(); ++element) {
    const int32_t first =
        axis.resampling.SetTaps(axis.begin + static_cast<int64_t>(element), weights);
    for (size_t tap = 0; tap < window; ++tap)
      entry(element, tap, weights[tap], first + static_cast<int64_t>(tap));
  }
  for (size_t element = axis.size(); element < size; ++element)
    for (size_t tap = 0; tap < window; ++tap) entry(element, tap, 0, 0);
}

void CameraImage::Run(ThreadPool& pool) {
  const size_t down_at = window() * sizeof(float);
  const size_t across_at = down_at + down_entries() * kEntryBytes;
  const size_t threads_at = across_at + across_entries() * kEntryBytes;
  const Table down = TableAt(down_at, down_entries());
  const Table across = TableAt(across_at, across_entries());
  if (down_.size() > 0) {
    SetTable(down_, down_.size(), 1, down_.resampling.Window(), down);
    SetTable(across_, padded(), padded(), 1, across);
  }
  const size_t cost = across_entries() * down_.resampling.Window() * 8 + padded();
  pool.For(static_cast<size_t>(output().h()), cost, [&](size_t begin, size_t end, int thread) {
    auto* const memory =
        scratch<uint8_t>(threads_at + thread_bytes() * static_cast<size_t>(thread));
    for (size_t row = begin; row < end; ++row)
      ComputeRow(static_cast<int64_t>(row), down, across, memory);
  });
}

// The words of pixels at `offsets` from the planes' rows.
void Gather(const uint8_t* const (&rows)[3], const int32_t* const (&offsets)[2], size_t count,
            uint32_t* words) {
  const uint8_t *const row0 = rows[0], *const row1 = rows[1], *const row2 = rows[2];
  const int32_t *const first = offsets[0], *const others = offsets[1];
  if (row2 == row1 + 1) {
    for (size_t i = 0; i < count; ++i) {
      uint16_t two;
      __builtin_memcpy(&two, row1 + others[i], sizeof(two));
      words[i] = row0[first[i]] | static_cast<uint32_t>(two) << 8;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    words[i] = row0[first[i]] | static_cast<uint32_t>(row1[others[i]]) << 8 |
               static_cast<uint32_t>(row2[others[i]]) << 16;
  }
}

void CameraImage::ComputeRow(int64_t row, const Table& down, const Table& across,
                             uint8_t* memory) const {
  auto* const words = reinterpret_cast<uint32_t*>(memory);
  auto* const sums = reinterpret_cast<float*>(words + across_entries());
  const int64_t element = row - down_.place;
  const bool has_content = element >= 0 && element < static_cast<int64_t>(down_.size());
  if (!has_content) return WriteRow(row, sums, false);
  for (size_t c = 0; c < channels(); ++c)
    for (size_t i = 0; i < padded(); ++i) sums[c * padded() + i] = offset_[c];
  CameraRowArgs<uint8_t> args = colors_;
  args.x = words;
  args.w = across.weights;
  args.n = padded();
  args.taps = across_.resampling.Window();
  const bool is_bgr = attributes().channels == CameraImageChannels::kBgr;
  const bool exchanges = is_bgr && args.colors == kCameraYuv;
  for (size_t c = 0; c < kMaxChannels; ++c)
    args.y[c] = sums + (exchanges ? kMaxChannels - 1 - c : c) * padded();
  const size_t window = down_.resampling.Window();
  for (size_t tap = 0; tap < window; ++tap) {
    const size_t at = static_cast<size_t>(element) * window + tap;
    if (down.weights[at] == 0) continue;
    for (size_t c = 0; c < channels(); ++c)
      args.factor[c] = down.weights[at] * scale_[exchanges ? kMaxChannels - 1 - c : c];
    const uint8_t* const x = data<uint8_t>(0);
    const uint8_t* const rows[] = {x + planes_.start[0] + down.offsets[0][at],
                                   x + planes_.start[1] + down.offsets[1][at],
                                   x + planes_.start[2] + down.offsets[1][at]};
    Gather(rows, {across.offsets[0], across.offsets[1]}, across_entries(), words);
    kernel_(args);
  }
  WriteRow(row, sums, true);
}

// A row of the result: the color around the content, and the channels of the content.
void CameraImage::WriteRow(int64_t row, const float* sums, bool has_content) const {
  const size_t count = channels(), width = static_cast<size_t>(output().w());
  const size_t begin = has_content ? static_cast<size_t>(across_.place) : width;
  const size_t end = has_content ? begin + across_.size() : width;
  const auto write = [&](auto* y, const auto& value) {
    for (size_t i = 0; i < begin; ++i)
      for (size_t c = 0; c < count; ++c) *y++ = value(around_[c]);
    for (size_t i = 0; i < end - begin; ++i)
      for (size_t c = 0; c < count; ++c) *y++ = value(sums[c * padded() + i]);
    for (size_t i = end; i < width; ++i)
      for (size_t c = 0; c < count; ++c) *y++ = value(around_[c]);
  };
  const size_t at = static_cast<size_t>(row) * width * count;
  if (output().dtype == DType::kF32) {
    write(result<float>() + at, [](float v) { return v; });
  } else {
    write(result<int8_t>() + at, RoundToByte);
  }
}

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(CameraImage)
