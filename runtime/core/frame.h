// Frames of a camera in the caller's memory, and the operator that reads them.
#ifndef TRIMTAB_CORE_FRAME_H_
#define TRIMTAB_CORE_FRAME_H_

#include <stdint.h>

#include "runtime/core/status.h"

namespace trimtab {

class Operator;

struct Frame {
  int32_t format = -1;            // a value of the reader's enum; -1: the model's
  int32_t width = 0, height = 0;  // pixels
  int32_t region[4] = {};         // the part to use: top, left, height, width
  const uint8_t* planes[3] = {};  // of the format, in its order
  int64_t strides[3] = {};        // bytes between rows of each plane; 0: no padding
};

// How the operator of type `id` is given a frame. On success, `*data` is what its input must point
// at. The operator then reads the frame instead of the bytes of its input.
struct FrameReader {
  uint16_t id;
  Status (*set)(Operator* op, const Frame& frame, const void** data);
};
// Defined by that operator; weak, so that binaries without it need no other definition.
extern const FrameReader kFrameReader __attribute__((weak));

}  // namespace trimtab

#endif  // TRIMTAB_CORE_FRAME_H_
