#include "runtime/ops/camera_view.h"

#include "runtime/core/frame_fit.h"

namespace trimtab {
namespace {

using Format = CameraImageFormat;
using Fit = CameraImageFit;

// A multiple of 2^-14: sums of such weights of bytes are exact in float, and so equal on all cores.
float Exact(float weight) { return ((weight * 0x1p14f + 0x1.8p23f) - 0x1.8p23f) * 0x1p-14f; }

constexpr bool IsValue(Fit fit, FrameFit value) {
  return static_cast<uint32_t>(fit) == static_cast<uint32_t>(value);
}
static_assert(IsValue(Fit::kStretch, FrameFit::kStretch) &&
                  IsValue(Fit::kLetterbox, FrameFit::kLetterbox) &&
                  IsValue(Fit::kLetterboxTopLeft, FrameFit::kLetterboxTopLeft) &&
                  IsValue(Fit::kCenterCrop, FrameFit::kCenterCrop) &&
                  IsValue(Fit::kCenterCropRounded, FrameFit::kCenterCropRounded) &&
                  IsValue(Fit::kLine, FrameFit::kLine),
              "the operator's fits are those of frames");

int64_t RowBytes(Format format, int64_t width) {
  return (IsYuv(format) ? width + width % 2 : width) * PlanesOf(format).column[0];
}

// Bytes of a row of the second plane.
int64_t ChromaBytes(Format format, int64_t width) {
  return (width + 1) / 2 * PlanesOf(format).column[1];
}

}  // namespace

CameraPlanes PlanesOf(Format format) {
  switch (format) {
    case Format::kNv12:
      return {{0, 1, 1}, {0, 0, 1}, {1, 2}, {0, 1}, {0, 1}};
    case Format::kNv21:
      return {{0, 1, 1}, {0, 1, 0}, {1, 2}, {0, 1}, {0, 1}};
    case Format::kI420:
      return {{0, 1, 2}, {0, 0, 0}, {1, 1}, {0, 1}, {0, 1}};
    case Format::kYuyv:
      return {{0, 0, 0}, {0, 1, 3}, {2, 4}, {0, 1}, {0, 0}};
    case Format::kUyvy:
      return {{0, 0, 0}, {1, 0, 2}, {2, 4}, {0, 1}, {0, 0}};
    case Format::kRgb:
      return {{0, 0, 0}, {0, 1, 2}, {3, 3}, {0, 0}, {0, 0}};
    case Format::kBgr:
      return {{0, 0, 0}, {2, 1, 0}, {3, 3}, {0, 0}, {0, 0}};
    case Format::kRgba:
      return {{0, 0, 0}, {0, 1, 2}, {4, 4}, {0, 0}, {0, 0}};
    case Format::kBgra:
      return {{0, 0, 0}, {2, 1, 0}, {4, 4}, {0, 0}, {0, 0}};
    case Format::kGray:
      break;
  }
  return {{0, 0, 0}, {0, 0, 0}, {1, 1}, {0, 0}, {0, 0}};
}

Frame AdjacentFrame(const CameraImageAttributes& a, const uint8_t* data) {
  Frame frame;
  frame.format = static_cast<int32_t>(a.format);
  frame.height = static_cast<int32_t>(a.frame[0]);
  frame.width = static_cast<int32_t>(a.frame[1]);
  for (size_t i = 0; i < 4; ++i) frame.region[i] = static_cast<int32_t>(a.region[i]);
  const int64_t halved = (a.frame[0] + 1) / 2;
  for (int i = 0; i < 3; ++i) {
    frame.planes[i] = data;
    const bool is_half = a.format == Format::kI420 && i > 0;
    frame.strides[i] = is_half ? a.stride / 2 : a.stride;
    if (data != nullptr && IsPlanar(a.format))
      data += frame.strides[i] * (i == 0 ? a.frame[0] : halved);
  }
  return frame;
}

Status CompleteFrame(const CameraImageAttributes& a, Frame* frame) {
  const auto check = [](bool holds, const char* text, int64_t x, int64_t y) {
    return holds ? Status() : Status(Code::kBadArgument, text, x, y);
  };
  if (frame->format == -1) frame->format = static_cast<int32_t>(a.format);
  if (frame->format < 0 || frame->format > static_cast<int32_t>(Format::kGray)) {
    return {Code::kBadArgument, TRIMTAB_TEXT("no such pixel format"), frame->format,
            Status::kNoFact};
  }
  const auto format = static_cast<Format>(frame->format);
  const int64_t width = frame->width, height = frame->height;
  const bool is_free = a.fit != Fit::kFixed;
  TRIMTAB_RETURN_IF_ERROR(
      check(height <= a.frame[0] && width <= a.frame[1],
            TRIMTAB_TEXT("the image exceeds the camera's frame (height, width of the frame)"),
            a.frame[0], a.frame[1]));
  TRIMTAB_RETURN_IF_ERROR(
      check(is_free ? height >= a.min_frame[0] && width >= a.min_frame[1]
                    : height == a.frame[0] && width == a.frame[1],
            TRIMTAB_TEXT("the image is smaller than the camera's frames (smallest height, width)"),
            is_free ? a.min_frame[0] : a.frame[0], is_free ? a.min_frame[1] : a.frame[1]));
  int32_t* const region = frame->region;
  const bool is_whole = region[2] == 0 && region[3] == 0;
  TRIMTAB_RETURN_IF_ERROR(check(is_free || is_whole,
                                TRIMTAB_TEXT("the camera's frames have one size: no crop"),
                                Status::kNoFact, Status::kNoFact));
  if (!is_free) {
    for (size_t i = 0; i < 4; ++i) region[i] = static_cast<int32_t>(a.region[i]);
  } else if (is_whole) {
    region[0] = region[1] = 0;
    region[2] = frame->height;
    region[3] = frame->width;
  }
  TRIMTAB_RETURN_IF_ERROR(
      check(region[0] >= 0 && region[1] >= 0 && region[2] > 0 && region[3] > 0 &&
                region[2] <= height - region[0] && region[3] <= width - region[1],
            TRIMTAB_TEXT("the crop exceeds the image (top, left)"), region[0], region[1]));
  const int planes = format == Format::kI420 ? 3 : IsPlanar(format) ? 2 : 1;
  for (int i = 0; i < planes; ++i) {
    const int64_t least = i == 0 ? RowBytes(format, width) : ChromaBytes(format, width);
    int64_t& stride = frame->strides[i];
    if (stride == 0) stride = least;
    TRIMTAB_RETURN_IF_ERROR(check(frame->planes[i] != nullptr,
                                  TRIMTAB_TEXT("a plane of the image is missing (its number)"), i,
                                  Status::kNoFact));
    TRIMTAB_RETURN_IF_ERROR(check(stride >= least && stride <= INT32_MAX / kMaxCameraSide,
                                  TRIMTAB_TEXT("rows do not fit the stride (plane, stride)"), i,
                                  stride));
  }
  return check(planes < 3 || frame->strides[1] == frame->strides[2],
               TRIMTAB_TEXT("the planes of chroma have different strides"), frame->strides[1],
               frame->strides[2]);
}

Status CameraView::Set(const CameraImageAttributes& a, const Frame& frame) {
  const auto format = static_cast<Format>(frame.format);
  planes = PlanesOf(format);
  const auto turn = static_cast<int>(a.rotation);  // quarters, clockwise
  const bool is_turned = turn % 2 != 0;
  int64_t content[4];
  for (size_t i = 0; i < 4; ++i) content[i] = a.content[i];
  if (a.fit != Fit::kFixed) {
    const int32_t height = frame.region[is_turned ? 3 : 2], width = frame.region[is_turned ? 2 : 3];
    FitFrame(static_cast<FrameFit>(a.fit), a.shorter, {height, width}, {a.sizes[0], a.sizes[1]},
             content);
  }
  CameraViewAxis* const axes[] = {&down, &across};
  for (size_t i = 0; i < 2; ++i) {
    CameraViewAxis& axis = *axes[i];
    axis.is_column = (i == 1) != is_turned;
    // Clockwise, the rows of the result are columns from the left, and its columns rows from below.
    const bool reverses = i == 0 ? turn == 2 || turn == 3 : turn == 1 || turn == 2;
    const size_t side = axis.is_column ? 1 : 0;
    const int64_t length = frame.region[side + 2];
    axis.first = reverses ? frame.region[side] + length - 1 : frame.region[side];
    axis.step = reverses ? -1 : 1;
    const int64_t out = content[i + 2], place = content[i], size = a.sizes[i];
    TRIMTAB_CHECK(out <= kMaxCameraSide, "the picture in the result is too large (axis)",
                  static_cast<int64_t>(i));
    axis.resampling = {length, out, &a};
    TRIMTAB_CHECK(a.method != CameraImageMethod::kArea || out <= length,
                  "the mean of areas only shrinks pictures (axis)", static_cast<int64_t>(i));
    axis.begin = place < 0 ? -place : 0;
    axis.end = size - place < out ? size - place : out;
    if (axis.end < axis.begin) axis.end = axis.begin;
    axis.place = place < 0 ? 0 : place;
  }
  // No content, if one axis has none.
  if (down.size() == 0 || across.size() == 0) down.end = down.begin;
  SetColors(a, format);
  SetPlacement(a, frame, content);
  return Status();
}

void CameraView::SetPlacement(const CameraImageAttributes& a, const Frame& frame,
                              const int64_t (&content)[4]) {
  const auto turn = static_cast<int>(a.rotation);
  const int32_t* const r = frame.region;
  // The turned frame's edges beside the turned region: left, above.
  const int32_t right = frame.width - r[1] - r[3], below = frame.height - r[0] - r[2];
  const int32_t edges[][2] = {{r[1], r[0]}, {below, r[1]}, {right, below}, {r[0], right}};
  const bool is_turned = turn % 2 != 0;
  const int32_t sizes[] = {frame.width, frame.height};
  for (size_t i = 0; i < 2; ++i) {  // x, y
    const size_t side = (i == 0) != is_turned ? 1 : 0;
    const auto scale = static_cast<float>(r[side + 2]) / static_cast<float>(content[3 - i]);
    placement[i] = scale;
    placement[i + 2] =
        static_cast<float>(edges[turn][i]) - static_cast<float>(content[1 - i]) * scale;
    placement[i + 4] = static_cast<float>(sizes[is_turned ? 1 - i : i]);
  }
}

void CameraView::SetColors(const CameraImageAttributes& a, Format format) {
  const bool is_bgr = a.channels == CameraImageChannels::kBgr;
  const bool is_gray = a.channels == CameraImageChannels::kGray;
  colors = {};
  if (!IsYuv(format)) {
    colors.colors = kCameraBytes;
    if (is_bgr) {
      const int8_t first = planes.start[0];
      planes.start[0] = planes.start[2];
      planes.start[2] = first;
    }
    if (is_gray) {
      colors.colors = kCameraSum;
      const bool sums = format != Format::kGray;
      colors.weight[0] = sums ? Exact(0.299f) : 1.0f;
      colors.weight[1] = sums ? Exact(0.587f) : 0.0f;
      colors.weight[2] = sums ? Exact(0.114f) : 0.0f;
    }
    return;
  }
  const bool is_limited = a.range == CameraImageRange::kLimited;
  const bool is_601 = a.matrix == CameraImageMatrix::kBt601;
  const float luma = is_limited ? 255.0f / 219.0f : 1.0f;
  const float chroma = is_limited ? 255.0f / 224.0f : 1.0f;
  colors.black = is_limited ? 16.0f : 0.0f;
  if (is_gray) {
    colors.colors = kCameraSum;
    colors.weight[0] = Exact(luma);
    return;
  }
  colors.colors = kCameraYuv;
  const float red = is_601 ? 0.299f : 0.2126f, blue = is_601 ? 0.114f : 0.0722f;
  const float green = 1.0f - red - blue;
  colors.weight[0] = luma;
  colors.weight[1] = 2 * (1 - red) * chroma;
  colors.weight[2] = -2 * (1 - blue) * blue / green * chroma;
  colors.weight[3] = -2 * (1 - red) * red / green * chroma;
  colors.weight[4] = 2 * (1 - blue) * chroma;
  if (is_limited && is_601) {  // OpenCV's constants, of three decimals
    const float rounded[] = {1.164f, 1.596f, -0.391f, -0.813f, 2.018f};
    for (int i = 0; i < 5; ++i) colors.weight[i] = rounded[i];
  }
  for (float& weight : colors.weight) weight = Exact(weight);
}

}  // namespace trimtab
