// The view of a frame that becomes the result of camera_image: its planes, axes and colors.
#ifndef TRIMTAB_OPS_CAMERA_VIEW_H_
#define TRIMTAB_OPS_CAMERA_VIEW_H_

#include <stddef.h>
#include <stdint.h>

#include "generated/attributes/camera_image.h"
#include "kernels/kernel_api.h"
#include "runtime/core/frame.h"
#include "runtime/ops/camera_axis.h"

namespace trimtab {

constexpr int64_t kMaxCameraSide = 1 << 14;

// Where the bytes of pixels are: luma or the first color, and the two others, which share their
// steps. A shift halves the coordinates of chroma.
struct CameraPlanes {
  uint8_t plane[3];            // of each byte
  int8_t start[3];             // of the first pixel in the plane
  uint8_t column[2];           // bytes between pixels, of the first and of the others
  uint8_t across[2], down[2];  // shifts
};

inline bool IsYuv(CameraImageFormat format) { return format <= CameraImageFormat::kUyvy; }
inline bool IsPlanar(CameraImageFormat format) { return format <= CameraImageFormat::kI420; }
CameraPlanes PlanesOf(CameraImageFormat format);

// One axis of the content: its taps, as places in the frame.
struct CameraViewAxis {
  CameraAxis resampling;
  int64_t begin = 0, end = 0;  // elements of the content that are in the result
  int64_t place = 0;           // of the first of them, in the result
  int64_t first = 0;           // coordinate in the frame of pixel 0 of the axis
  int64_t step = 1;            // to the next pixel: 1, or -1
  bool is_column = true;       // along a row of the frame

  size_t size() const { return static_cast<size_t>(end - begin); }
};

struct CameraView {
  CameraPlanes planes = {};
  CameraViewAxis down, across;
  CameraRowArgs<uint8_t> colors = {};
  float placement[6] = {};  // see the operator's output of that name

  // Sets the view of a frame of such a format, of which only strides and planes may still be
  // missing.
  Status Set(const CameraImageAttributes& attributes, const Frame& frame);

 private:
  void SetColors(const CameraImageAttributes& attributes, CameraImageFormat format);
  void SetPlacement(const CameraImageAttributes& attributes, const Frame& frame,
                    const int64_t (&content)[4]);
};

// The frame of a camera whose rows, and whose planes, follow each other from `data` on.
Frame AdjacentFrame(const CameraImageAttributes& attributes, const uint8_t* data);

// Checks a frame of the caller against the sizes that the model allows, and replaces what it leaves
// to the model: the format, the strides of rows without padding, the part of the frame.
Status CompleteFrame(const CameraImageAttributes& attributes, Frame* frame);

}  // namespace trimtab

#endif  // TRIMTAB_OPS_CAMERA_VIEW_H_
