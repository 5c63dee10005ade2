// Resampling of one axis of a picture: the pixels that an element of the result depends on.
#ifndef TRIMTAB_OPS_CAMERA_AXIS_H_
#define TRIMTAB_OPS_CAMERA_AXIS_H_

#include <stddef.h>
#include <stdint.h>

#include "generated/attributes/camera_image.h"

namespace trimtab {

// Whether weights may be negative, so that sums may exceed the range of pixels.
inline bool IsCubic(CameraImageMethod method) {
  return method == CameraImageMethod::kBicubic || method == CameraImageMethod::kAntialiasBicubic;
}

// `in` pixels become `out`. Both are below 2^15, so products fit 64 bits with room to spare.
struct CameraAxis {
  int64_t in = 1, out = 1;
  const CameraImageAttributes* attributes = nullptr;  // method and centers

  // Upper limit of the number of taps.
  size_t Window() const;
  // Sets the taps of element `i`: pixels from the result on, and the weights of Window() pixels,
  // whose sum is 1. Pixels beyond the last have the weight 0.
  int32_t SetTaps(int64_t i, float* weights) const;

 private:
  bool Widens() const;  // the filter, when pictures shrink
  int64_t Reach() const { return IsCubic(attributes->method) ? 2 : 1; }  // of a filter, in pixels
  bool IsWhole() const;  // all coordinates of interpolated elements are those of pixels
  int64_t Nearest(int64_t i) const;
  double Coordinate(int64_t i) const;  // of an interpolated element
};

}  // namespace trimtab

#endif  // TRIMTAB_OPS_CAMERA_AXIS_H_
