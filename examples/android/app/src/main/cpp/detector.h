/* A detector for frames of Android's cameras. Nothing of it needs Android. */
#ifndef DETECTOR_H_
#define DETECTOR_H_

#include <stdint.h>

#include "trimtab.h"

/* A frame of the format YUV_420_888, as Image.getPlanes and AHardwareBuffer_lockPlanes describe it:
 * Y, U and V with bytes between rows and between pixels. */
typedef struct {
  int32_t width, height;
  const uint8_t* planes[3];
  int32_t row_strides[3], pixel_strides[3];
} yuv_frame;

/* Runs a network with a camera and a head on a frame; then trimtab_box_at has its boxes. Returns
 * TRIMTAB_BAD_ARGUMENT for planes that are neither NV12 nor NV21 nor I420. */
int detect(trimtab_model* model, const yuv_frame* frame);

#endif
