#include "runtime/ops/camera_axis.h"

namespace trimtab {
namespace {

using Method = CameraImageMethod;
using Centers = CameraImageCenters;

int64_t Limited(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Keys' filter (1981), which reaches two pixels.
double Cubic(double distance, double a) {
  const double x = distance < 0 ? -distance : distance;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

constexpr double kOpenCv = -0.75, kPillow = -0.5;  // the filter's a

}  // namespace

bool CameraAxis::Widens() const {
  return attributes->method == Method::kAntialias ||
         attributes->method == Method::kAntialiasBicubic;
}

size_t CameraAxis::Window() const {
  int64_t taps = 1;
  if (attributes->method == Method::kBilinear && in != out) taps = IsWhole() ? 1 : 2;
  if (attributes->method == Method::kBicubic && in != out) taps = IsWhole() ? 1 : 4;
  // A covered area begins and ends within a pixel, unless the ratio is whole.
  if (attributes->method == Method::kArea) taps = in % out == 0 ? in / out : in / out + 2;
  if (Widens() && in != out) taps = in > out ? 2 * (Reach() * in / out + 1) + 1 : 2 * Reach() + 1;
  return static_cast<size_t>(Limited(taps, 1, in));
}

bool CameraAxis::IsWhole() const {
  if (in % out != 0) return false;
  return attributes->centers == Centers::kAsymmetric ||
         (attributes->centers == Centers::kHalfPixel && in / out % 2 != 0);
}

int64_t CameraAxis::Nearest(int64_t i) const {
  switch (attributes->centers) {
    case Centers::kHalfPixel:
      return (2 * i + 1) * in / (2 * out);
    case Centers::kAsymmetric:
      return i * in / out;
    case Centers::kAlignCorners:
      break;
  }
  return out == 1 ? 0 : (2 * i * (in - 1) + out - 1) / (2 * (out - 1));
}

double CameraAxis::Coordinate(int64_t i) const {
  const auto x = static_cast<double>(i), from = static_cast<double>(in);
  const auto to = static_cast<double>(out);
  switch (attributes->centers) {
    case Centers::kHalfPixel:
      return (x + 0.5) * from / to - 0.5;
    case Centers::kAsymmetric:
      return x * from / to;
    case Centers::kAlignCorners:
      break;
  }
  return out == 1 ? 0 : x * (from - 1) / (to - 1);
}

int32_t CameraAxis::SetTaps(int64_t i, float* weights) const {
  const auto window = static_cast<int64_t>(Window());
  for (int64_t t = 0; t < window; ++t) weights[t] = 0;
  // Pixels before the first of `window` neighbors in the picture.
  const auto place = [&](int64_t first) { return Limited(first, 0, in - window); };
  if (attributes->method == Method::kNearest || window == 1) {
    int64_t at = in == out ? i : 0;
    if (attributes->method == Method::kNearest) at = Nearest(i);
    if (attributes->method == Method::kBilinear || attributes->method == Method::kBicubic)
      at = static_cast<int64_t>(Coordinate(i));
    weights[0] = 1;
    return static_cast<int32_t>(Limited(at, 0, in - 1));
  }
  if (attributes->method == Method::kBilinear) {
    double x = Coordinate(i);
    x = x < 0 ? 0 : x > static_cast<double>(in - 1) ? static_cast<double>(in - 1) : x;
    const int64_t first = place(static_cast<int64_t>(x));
    const auto share = static_cast<float>(x - static_cast<double>(first));
    weights[0] = 1 - share;
    weights[1] = share;
    return static_cast<int32_t>(first);
  }
  if (attributes->method == Method::kBicubic) {  // pixels beyond the edge are those of the edge
    const double x = Coordinate(i);
    const int64_t before = static_cast<int64_t>(x + 1) - 2, first = place(before);
    for (int64_t at = before; at < before + 4; ++at) {
      const double weight = Cubic(x - static_cast<double>(at), kOpenCv);
      weights[Limited(at, 0, in - 1) - first] += static_cast<float>(weight);
    }
    return static_cast<int32_t>(first);
  }
  if (attributes->method == Method::kArea) {  // in units of 1 / out pixel
    const int64_t begin = i * in, end = begin + in, first = place(begin / out);
    for (int64_t t = 0; t < window; ++t) {
      const int64_t low = (first + t) * out, high = low + out;
      const int64_t covered = (high < end ? high : end) - (low > begin ? low : begin);
      if (covered > 0) weights[t] = static_cast<float>(covered) / static_cast<float>(in);
    }
    return static_cast<int32_t>(first);
  }
  // PIL's filters: a triangle or a cubic, whose pixels are those of the result, or the picture's.
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const double pixel = ratio > 1 ? ratio : 1, support = static_cast<double>(Reach()) * pixel;
  const double center = (static_cast<double>(i) + 0.5) * ratio;
  const double low = center - support + 0.5, high = center + support + 0.5;
  const int64_t first = place(low > 0 ? static_cast<int64_t>(low) : 0);
  const int64_t last = Limited(static_cast<int64_t>(high), first, in);
  double total = 0;
  for (int64_t x = first; x < last && x < first + window; ++x) {
    double distance = (static_cast<double>(x) - center + 0.5) / pixel;
    distance = distance < 0 ? -distance : distance;
    double weight = distance < 1 ? 1 - distance : 0;
    if (IsCubic(attributes->method)) weight = Cubic(distance, kPillow);
    weights[x - first] = static_cast<float>(weight);
    total += weight;
  }
  for (int64_t t = 0; t < window && total > 0; ++t) {
    weights[t] = static_cast<float>(static_cast<double>(weights[t]) / total);
  }
  return static_cast<int32_t>(first);
}

}  // namespace trimtab
